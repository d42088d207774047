"""`ssdlab drives scale`: what `ssdlab try` predicts of drives, beside runs at their full size."""
