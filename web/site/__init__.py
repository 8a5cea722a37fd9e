"""What all pages share: limits, uploads, fragments, refusals."""
