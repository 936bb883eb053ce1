"""Readers, the doctor and the time plan take few steps here."""

from tests.fits import quick_with_all_folds as quick_with_all_folds
