"""The page at the end of a run: every artifact, every verdict, and where they come from.

- ``run``: what a run consists of besides its results: times of its jobs, the machine;
- ``tables``: csv files as tables of a page;
- ``page``: the page, from ``template.html``, ``style.css`` and ``script.js`` beside it.
"""
