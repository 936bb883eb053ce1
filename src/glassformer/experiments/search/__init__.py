"""Search for the settings of a recipe within a time, and measure the choice on rows that the search never saw."""
