from opendp_lite.testing.audits import audit as audit
from opendp_lite.testing.lawful import assert_lawful as assert_lawful
from opendp_lite.testing.replayable import NoiseStep as NoiseStep
from opendp_lite.testing.replayable import assert_replayable as assert_replayable
from opendp_lite.testing.replayable import record as record
from opendp_lite.testing.stable import assert_stable as assert_stable
