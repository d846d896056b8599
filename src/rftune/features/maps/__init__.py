"""One file per feature map."""
