"""Analytics pages over the data of a company: rows, summaries, and reports that are saved."""
