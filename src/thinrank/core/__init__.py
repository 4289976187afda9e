"""What all packages share: factors, thresholding, contracts, results."""
