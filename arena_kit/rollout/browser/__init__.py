"""The browser of a world: our own container, in which Chromium is told what an agent does and shows what it sees."""
