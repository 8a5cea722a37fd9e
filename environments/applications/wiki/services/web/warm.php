<?php
// Asks for pages, and for the styles and programs that each of them names: MediaWiki then keeps what it has made of them.
function answer( string $address ): string {
	$context = stream_context_create( [ 'http' => [ 'ignore_errors' => true ] ] );
	return (string)file_get_contents( "http://127.0.0.1:8000$address", false, $context );
}
foreach ( array_slice( $argv, 1 ) as $page ) {
	preg_match_all( '~"(/load\.php\?[^"]+)"~', answer( $page ), $named );
	foreach ( array_unique( $named[1] ) as $address ) {
		answer( html_entity_decode( $address ) );
	}
}
