"""Messages, arguments and results out of attributes, in whatever spelling they are written."""
