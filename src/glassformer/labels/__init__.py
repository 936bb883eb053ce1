"""Look for wrong labels and repeated texts in a table, and mend it."""
