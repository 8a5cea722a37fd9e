<?php
// The wiki of a world: no mail, no cache but PostgreSQL and a folder, no job in the background.
$wgSitename = 'Lantern Coast';
$wgServer = 'http://web:8000';
$wgScriptPath = '';
$wgArticlePath = '/wiki/$1';
$wgUsePathInfo = true;
$wgDBtype = 'postgres';
$wgDBserver = '127.0.0.1';
$wgDBport = 5432;
$wgDBname = 'wiki';
$wgDBuser = 'postgres';
$wgDBpassword = 'unused';
$wgDBmwschema = 'mediawiki';
// What the first pages need is made while the package is built, and is then in the database of each world.
$wgMainCacheType = CACHE_DB;
$wgMessageCacheType = CACHE_NONE;
$wgParserCacheType = CACHE_NONE;
$wgSessionCacheType = CACHE_DB;
$wgCacheDirectory = '/data/cache';
// A world is reached by its own browser alone, so that its key is no secret.
$wgSecretKey = str_repeat( '0123456789abcdef', 4 );
$wgUpgradeKey = '0123456789abcdef';
$wgLanguageCode = 'en';
$wgLocaltimezone = 'UTC';
$wgEnableEmail = false;
$wgPingback = false;
$wgJobRunRate = 0;
$wgRateLimits = [];
$wgGroupPermissions['*']['createaccount'] = false;
$wgGroupPermissions['*']['edit'] = false;
wfLoadSkin( 'Vector' );
$wgDefaultSkin = 'vector';
