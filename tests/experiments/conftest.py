"""Readers, the doctor and the time plan take few steps here."""

from tests.fits import quick as quick
