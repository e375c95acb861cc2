"""The daemon inside a box, written from what is known of envd 0.6.13. It runs in the box's own
namespaces and file system; everything it imports is loaded before it has only those."""
