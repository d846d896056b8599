"""The paper's experiments, a folder each; `base` says what is in a folder."""
