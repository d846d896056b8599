"""The cloud experiment: a single-column EDMF model whose five parameters are inferred from liquid water paths."""
