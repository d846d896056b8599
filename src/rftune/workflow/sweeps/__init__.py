"""Sweeps: the settings of an emulator, or of its data, varied over a grid or a csv of combinations.

- ``settings``: what a sweep's file and the csv beside it may say;
- ``plan``: from them to the runs of its points, which go through the stages of every other run;
- ``tables`` and ``figures``: what came out, one row per repeat, and error and time against each varied setting.
"""
