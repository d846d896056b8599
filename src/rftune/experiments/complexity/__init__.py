"""T1: what GPR and RFR cost, measured. No emulator is tuned here: there is one measurement, a table and a figure."""
