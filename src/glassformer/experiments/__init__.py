"""Many runs: variants over seeds, and the published systems."""
