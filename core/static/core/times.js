// The clock of Django's forms, where a page has one, offers times as the rest of the site writes them.
"use strict";
if (window.DateTimeShortcuts) {
  DateTimeShortcuts.clockHours.default_ = [["Now", -1], ["00:00", 0], ["06:00", 6], ["12:00", 12], ["18:00", 18]];
}
