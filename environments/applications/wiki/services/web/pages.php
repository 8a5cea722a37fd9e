<?php
// Prints the pages of the wiki as MediaWiki reads them, made from the number that is its argument.
mt_srand( (int)$argv[1] );
const HARBOURS = [ 'Alder Bay', 'Brine Haven', 'Cold Quay', 'Dunmouth', 'Eelport', 'Farrow Sound' ];
const KEEPERS = [ 'Ada Hale', 'Ben Ito', 'Cleo Lind', 'Dana Novak', 'Emil Costa', 'Fay Okafor', 'Gus Brandt', 'Hana Abel' ];
const FIRST = [ 'Gull', 'Heron', 'Kelp', 'Mussel', 'Otter', 'Petrel' ];
const SECOND = [ 'Point', 'Rock', 'Head', 'Shoal', 'Ness' ];
const AUTHORS = [ 'Surveyor', 'Mistral', 'Beacon', 'Tidewater' ];
const SUMMARIES = [ 'new height', 'keeper has changed', 'repainted', 'spelling' ];
$number = 0;

function pick( array $values ) {
	return $values[mt_rand( 0, count( $values ) - 1 )];
}

function revision( string $text, string $author, string $summary ): string {
	global $number;
	$number++;
	$at = gmdate( 'Y-m-d\TH:i:s\Z', 1735689600 + 7200 * $number );
	return '<revision><timestamp>' . $at . '</timestamp><contributor><username>' . $author
		. '</username></contributor><comment>' . htmlspecialchars( $summary )
		. '</comment><model>wikitext</model><format>text/x-wiki</format><text xml:space="preserve">'
		. htmlspecialchars( $text ) . '</text></revision>';
}

function page( string $title, int $namespace, string ...$revisions ): void {
	echo '<page><title>' . htmlspecialchars( $title ) . "</title><ns>$namespace</ns>" . implode( '', $revisions ) . "</page>\n";
}

function light( string $name, string $harbour, string $keeper, int $built, int $metres ): string {
	return "'''$name''' is a lighthouse near [[$harbour]].\n\n* Built: $built\n* Height: $metres m\n* Keeper: [[$keeper]]\n\n"
		. "[[Category:Lighthouses]]\n[[Category:Lighthouses near $harbour]]";
}

echo '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">' . "\n";
$list = '';
foreach ( HARBOURS as $harbour ) {
	$list .= "* [[$harbour]]\n";
	$people = mt_rand( 200, 9000 );
	page( $harbour, 0, revision( "'''$harbour''' is a harbour with $people inhabitants.\n\n"
		. "See also: [[:Category:Lighthouses near $harbour]].\n\n[[Category:Harbours]]", 'Surveyor', 'first survey' ) );
	page( "Category:Lighthouses near $harbour", 14, revision( "Lighthouses near [[$harbour]].", 'Surveyor', 'first survey' ) );
}
foreach ( KEEPERS as $keeper ) {
	$since = mt_rand( 1985, 2020 );
	page( $keeper, 0, revision( "'''$keeper''' has kept lighthouses since $since.\n\n[[Category:Keepers]]", 'Surveyor', 'first survey' ) );
}
foreach ( FIRST as $first ) {
	foreach ( SECOND as $second ) {
		$name = "$first $second Light";
		$harbour = pick( HARBOURS );
		$built = mt_rand( 1790, 1930 );
		$metres = mt_rand( 9, 62 );
		$made = [ revision( light( $name, $harbour, pick( KEEPERS ), $built, $metres ), 'Surveyor', 'first survey' ) ];
		for ( $count = mt_rand( 1, 3 ); $count > 0; $count-- ) {
			$metres += mt_rand( 1, 4 );
			$last = light( $name, $harbour, pick( KEEPERS ), $built, $metres );
			$made[] = revision( $last, pick( AUTHORS ), pick( SUMMARIES ) );
		}
		if ( $name === 'Otter Ness Light' ) {
			$made[] = revision( 'This light is a hoax, and so are you!!!', 'Gale', '' );
		}
		page( $name, 0, ...$made );
	}
}
page( 'Category:Lighthouses', 14, revision( 'All lighthouses of the coast.', 'Surveyor', 'first survey' ) );
page( 'Category:Harbours', 14, revision( 'All harbours of the coast.', 'Surveyor', 'first survey' ) );
page( 'Category:Keepers', 14, revision( 'All keepers of lighthouses.', 'Surveyor', 'first survey' ) );
page( 'Harbour Rules', 0, revision( "# Lamps are lit at dusk.\n# Fog horns sound every minute.", 'Steward', 'as agreed' ) );
page( 'Main Page', 0, revision( "This wiki is about the lights of the '''Lantern Coast'''.\n\n== Harbours ==\n$list\n"
	. "== Lists ==\n* [[:Category:Lighthouses]]\n* [[:Category:Keepers]]\n* [[Harbour Rules]]", 'Steward', 'welcome' ) );
echo "</mediawiki>\n";
