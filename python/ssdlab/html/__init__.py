"""Results as a page to look at: one HTML file that needs no other, and plots as SVG files.

Route: `curves` (series and distributions) -> `run_plots`, `compare_plots` (what is shown) ->
`svg` (how it is drawn) -> `run_page`, `compare_page` (the page). The style sheets and
scripts beside them are put into the page.
"""
