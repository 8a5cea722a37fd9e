<?php
// Leads the addresses of pages to MediaWiki; PHP's own server sends the files and runs the other programs.
$path = parse_url( $_SERVER['REQUEST_URI'], PHP_URL_PATH );
if ( $path !== '/' && !str_starts_with( $path, '/wiki/' ) ) {
	return false;
}
$_SERVER['SCRIPT_NAME'] = '/index.php';
$_SERVER['SCRIPT_FILENAME'] = '/usr/share/mediawiki/index.php';
chdir( '/usr/share/mediawiki' );
require '/usr/share/mediawiki/index.php';
