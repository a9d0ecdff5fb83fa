"""What pages and API share: who may open them, parsing, problems, the access log."""
