"""The look that all HTML pages share."""
