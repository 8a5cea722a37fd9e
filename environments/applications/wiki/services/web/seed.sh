#!/bin/sh
# Installs MediaWiki into the empty database and fills it from the number SEED; equal numbers give equal pages.
set -eu
cd /usr/share/mediawiki/maintenance
mkdir -p /data/cache
env -u MW_CONFIG_FILE php install.php --confpath /tmp --dbtype postgres --dbserver 127.0.0.1 --dbport 5432 --dbname wiki \
    --dbuser postgres --dbpass unused --installdbuser postgres --installdbpass unused --dbschema mediawiki \
    --server http://web:8000 --scriptpath "" --pass seven-lamps-9 "Lantern Coast" Steward
for name in Editor Gale Surveyor Mistral Beacon Tidewater; do
    php createAndPromote.php "$name" seven-lamps-9
done
php /app/pages.php "$SEED" >/tmp/pages.xml
php importDump.php --quiet --no-updates --username-prefix imported /tmp/pages.xml
php rebuildall.php --quiet >/dev/null
php initSiteStats.php --update
php protect.php --user Steward --reason "Agreed by all harbours" "Harbour Rules"
php runJobs.php --quiet
php rebuildLocalisationCache.php --quiet --lang en,en-gb
# What these pages need is compiled and kept.
php /app/warm.php /wiki/Main_Page "/index.php?title=Special:UserLogin" "/index.php?title=Main_Page&action=history" \
    "/load.php?lang=en&modules=jquery%7Cmediawiki.base&skin=vector"
rm -f /tmp/pages.xml /tmp/LocalSettings.php
