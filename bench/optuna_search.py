# SPDX-License-Identifier: MIT OR Apache-2.0
"""Optuna's TPE for `trimtab tune bench`.

Reads `asked.json`: for each choice the number of its options, points to begin with, a seed, and how many
points to name at most. Writes each point as a line of numbers, and waits for the line of `costs` that says
what it costs.
"""

import json
import time

import optuna

asked = json.load(open("asked.json"))
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=asked["seed"]))
names = [f"c{place}" for place in range(len(asked["most"]))]
for point in asked["seeds"]:
    study.enqueue_trial(dict(zip(names, point)))

with open("costs") as costs:
    for _ in range(asked["trials"]):
        trial = study.ask()
        values = [
            trial.suggest_categorical(name, list(range(most + 1)))
            for name, most in zip(names, asked["most"])
        ]
        print(*values, flush=True)
        line = ""
        while not line.endswith("\n"):
            more = costs.readline()
            line += more
            if not more:
                time.sleep(0.002)
        study.tell(trial, float(line))
