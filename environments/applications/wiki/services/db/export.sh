#!/bin/sh
# Writes what people see of the wiki as CSV: pages with their text, edits, protections, accounts and blocks. Sessions,
# caches and links that MediaWiki derives are left out, since they differ between two equal wikis.
set -eu
rm -rf /export/*
table() {
    printf '%s\n' "$2" >"/export/$1.csv"
    psql --quiet --no-psqlrc --host /tmp --dbname wiki --set ON_ERROR_STOP=1 \
        --command "SET search_path TO mediawiki" --command "COPY ($3) TO STDOUT WITH (FORMAT csv)" >>"/export/$1.csv"
}
TITLE="CASE page_namespace WHEN 0 THEN '' WHEN 4 THEN 'Project:' WHEN 14 THEN 'Category:' ELSE page_namespace || ':' END
    || replace(page_title, '_', ' ')"
table page title:text:key,text:text,redirect:boolean "
    SELECT $TITLE, old_text, page_is_redirect = 1 FROM page
    JOIN slots ON slot_revision_id = page_latest JOIN content ON content_id = slot_content_id
    JOIN \"text\" ON old_id = substring(content_address FROM 4)::int ORDER BY page_namespace, page_title"
table edit id:integer:key,page:text,author:text,summary:text "
    SELECT rev_id, $TITLE, actor_name, comment_text FROM revision JOIN page ON page_id = rev_page
    JOIN actor ON actor_id = rev_actor LEFT JOIN revision_comment_temp ON revcomment_rev = rev_id
    LEFT JOIN comment ON comment_id = coalesce(revcomment_comment_id, rev_comment_id) ORDER BY rev_id"
table protection page:text:key,action:text:key,level:text,until:text "
    SELECT $TITLE, pr_type, pr_level, pr_expiry FROM page_restrictions JOIN page ON page_id = pr_page ORDER BY 1, 2"
table account name:text:key,roles:text "
    SELECT user_name, string_agg(ug_group, ' ' ORDER BY ug_group) FROM \"user\" LEFT JOIN user_groups ON ug_user = user_id
    GROUP BY user_name ORDER BY user_name"
table block name:text:key,until:text "SELECT ipb_address, ipb_expiry FROM ipblocks ORDER BY 1"
