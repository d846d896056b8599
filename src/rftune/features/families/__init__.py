"""One file per family of the feature distribution."""
