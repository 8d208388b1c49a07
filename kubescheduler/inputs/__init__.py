"""What users name, read in one place: files, texts, manifests, objects; clusters and pods of them."""
