"""Model calls: each request to a model once, with what it was given and what it answered."""
