"""Designs of others as they were printed, one short file each, defects included; what had to be mended is named
there.
"""
