"""The desk: a page on this machine to label texts at, to train, and to mend labels. A project is a folder."""
