"""Readers take few steps here."""

from tests.fits import quick as quick
