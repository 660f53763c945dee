"""Rocq proves ``laws.v``: words of a sign and bits have the laws of discrete and of rounded noise.

Needs ``apt-get install coq``; skipped without it.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

THEOREMS = (
    *("discrete_laplace", "discrete_laplace_loses"),
    *("rounded_laplace", "rounded_laplace_loses", "rounded_gaussian"),
)
# What Rocq's real numbers rest on, and no more: nothing here is admitted without proof.
CLASSICAL = {
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "constructive_definite_description",
    "classic",
}


@pytest.mark.skipif(shutil.which("coqc") is None, reason="needs Rocq: apt-get install coq")
def test_noise_has_its_law(tmp_path):
    source = Path(__file__).with_name("laws.v").read_text("utf-8")
    shown = "".join(f"Print Assumptions {name}.\n" for name in THEOREMS)
    (tmp_path / "laws.v").write_text(source + shown, "utf-8")
    told = subprocess.run(
        ["coqc", "-q", "laws.v"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    assert told.stdout.count("Axioms:") == len(THEOREMS)
    assert set(re.findall(r"^([\w.]+)(?: :.*)?$", told.stdout, re.MULTILINE)) == CLASSICAL
