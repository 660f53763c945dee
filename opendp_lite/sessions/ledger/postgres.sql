-- A ledger in PostgreSQL, version 13 or later. Clients make each entry as for a file; what stands
-- here lets nobody but the owner of the schema add one that is wrong, and nobody change one.
-- Clients compare the functions with this text: a change of one is a new layout.
CREATE SCHEMA opendp_lite;

CREATE TABLE opendp_lite.ledger (
  identity text NOT NULL, measure text NOT NULL, unit text NOT NULL, data text NOT NULL,
  witness text NOT NULL, created text NOT NULL, layout integer NOT NULL DEFAULT 2
);
CREATE TABLE opendp_lite.entries (
  number bigint PRIMARY KEY, state text NOT NULL, price text NOT NULL, total text NOT NULL,
  budget text NOT NULL, unit text NOT NULL, scope text NOT NULL, asked text NOT NULL,
  note text NOT NULL, closes bigint UNIQUE, content text NOT NULL, time text NOT NULL,
  version text NOT NULL, machine text NOT NULL, place text NOT NULL, previous text NOT NULL,
  hash text NOT NULL,
  -- Who added it, and when, as the server knows.
  who text NOT NULL DEFAULT '', booked timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE opendp_lite.secret (key text NOT NULL);

-- The row lock is what makes payments wait for each other. An advisory lock could be taken by all
-- who may connect. It is a function, since whoever may lock a row may also change it.
CREATE FUNCTION opendp_lite.hold() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM 1 FROM opendp_lite.ledger FOR NO KEY UPDATE;
END $$;

-- A text as Python's json.dumps writes it: ASCII, with a pair of surrogates above 65535.
CREATE FUNCTION opendp_lite.write_json(given text) RETURNS text LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  written text := to_json(given)::text;
  found text := '';
  letter text;
  code integer;
BEGIN
  IF written COLLATE "C" ~ '^[ -~]*$' THEN
    RETURN written;
  END IF;
  FOREACH letter IN ARRAY string_to_array(written, NULL) LOOP
    code := ascii(letter);
    found := found || CASE
      WHEN code BETWEEN 32 AND 126 THEN letter
      WHEN code < 65536 THEN '\u' || lpad(to_hex(code), 4, '0')
      ELSE '\u' || to_hex(55296 + (code - 65536) / 1024)
        || '\u' || to_hex(56320 + (code - 65536) % 1024) END;
  END LOOP;
  RETURN found;
END $$;

-- The numerators and denominators of a loss, by turns. numeric itself would take signs, NaN,
-- infinities, exponents and points. Its regular expressions count to 255 at most. Clients read 4000
-- digits on each side.
CREATE FUNCTION opendp_lite.read_loss(loss text) RETURNS numeric[] LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  found numeric[] := '{}';
  part text;
  above numeric;
  below numeric;
BEGIN
  FOREACH part IN ARRAY string_to_array(loss, ' ') LOOP
    IF greatest(length(split_part(part, '/', 1)), length(split_part(part, '/', 2))) > 4000
      OR part COLLATE "C" !~ '^(0|[1-9][0-9]*)(/[1-9][0-9]*)?$' THEN
      RAISE EXCEPTION 'a loss is no exact number' USING ERRCODE = 'ODP01';
    END IF;
    above := split_part(part, '/', 1)::numeric;
    below := coalesce(nullif(split_part(part, '/', 2), ''), '1')::numeric;
    IF part LIKE '%/%' AND (below = 1 OR gcd(above, below) <> 1) THEN
      RAISE EXCEPTION 'a loss is not in lowest terms' USING ERRCODE = 'ODP01';
    END IF;
    found := found || above || below;
  END LOOP;
  RETURN found;
END $$;

-- Whether one loss and another make a third. A delta of approximate privacy stops at 1.
CREATE FUNCTION opendp_lite.adds_up(first text, second text, total text, capped boolean)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, opendp_lite, pg_temp AS $$
DECLARE
  a numeric[] := read_loss(first);
  b numeric[] := read_loss(second);
  t numeric[] := read_loss(total);
  above numeric;
  below numeric;
BEGIN
  IF cardinality(a) <> cardinality(b) OR cardinality(a) <> cardinality(t) THEN
    RETURN false;
  END IF;
  FOR i IN 1 .. cardinality(a) BY 2 LOOP
    above := a[i] * b[i + 1] + b[i] * a[i + 1];
    below := a[i + 1] * b[i + 1];
    IF capped AND i > 1 THEN
      above := least(above, below);
    END IF;
    IF t[i] * below <> above * t[i + 1] THEN
      RETURN false;
    END IF;
  END LOOP;
  RETURN true;
END $$;

-- Whether a budget pays for a loss. The rule of Renyi divergences is that of dp.measures, whose sum
-- of exponentials is right to forty digits, as it is here. So this asks for 1e-38 more: whatever it
-- takes, a client takes, which could not open the ledger otherwise.
CREATE FUNCTION opendp_lite.is_within(loss text, budget text, measure text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, opendp_lite, pg_temp AS $$
DECLARE
  l numeric[] := read_loss(loss);
  b numeric[] := read_loss(budget);
  orders text[] := string_to_array(measure, ' ');
  a numeric[];
  exponent numeric;
  total numeric := 0;
BEGIN
  IF orders[1] <> 'RenyiDivergence' THEN
    RETURN (SELECT bool_and(l[i] * b[i + 1] <= b[i] * l[i + 1])
      FROM generate_series(1, cardinality(l), 2) i);
  END IF;
  IF l[3] * b[4] > b[3] * l[4] THEN
    RETURN false;
  ELSIF l[1] * b[2] <= b[1] * l[2] THEN
    RETURN true;
  END IF;
  FOR i IN 2 .. cardinality(orders) LOOP
    a := read_loss(split_part(orders[i], ':', 1));
    IF b[2 * i + 3] > 0 THEN
      exponent := (a[1] - a[2])
        * (b[2 * i + 3] * l[2 * i + 4] - l[2 * i + 3] * b[2 * i + 4]) * '1e45';
      IF exponent >= 0 THEN
        RETURN true;
      END IF;
      exponent := div(exponent, a[2] * b[2 * i + 4] * l[2 * i + 4]) * '1e-45';
      IF exponent > -64 THEN
        total := total + exp(exponent);
      END IF;
    END IF;
  END LOOP;
  RETURN total >= 1 + '1e-38'::numeric;
END $$;

CREATE FUNCTION opendp_lite.check_entry() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, opendp_lite, pg_temp AS $$
DECLARE
  measure text;
  head opendp_lite.entries;
  cells text;
  free boolean;
  wrong text;
BEGIN
  -- In READ COMMITTED what follows sees all that was committed before the lock. Elsewhere the head
  -- may be stale, and then the primary key refuses the number.
  SELECT l.measure INTO STRICT measure FROM opendp_lite.ledger l FOR NO KEY UPDATE;
  SELECT * INTO head FROM opendp_lite.entries ORDER BY number DESC LIMIT 1;
  NEW.who := session_user;
  NEW.booked := clock_timestamp();
  free := NEW.price COLLATE "C" ~ '^0( 0)*$';
  SELECT '[' || NEW.number || ',' || string_agg(CASE n WHEN 9 THEN coalesce(NEW.closes::text, 'null')
      ELSE write_json(cell) END, ',' ORDER BY n) || ']' INTO cells
    FROM unnest(ARRAY[NEW.state, NEW.price, NEW.total, NEW.budget, NEW.unit, NEW.scope, NEW.asked,
      NEW.note, '', NEW.content, NEW.time, NEW.version, NEW.machine, NEW.place, NEW.previous])
      WITH ORDINALITY cell(cell, n);
  -- Not one CASE: functions that are immutable might be called for all of its branches.
  IF NEW.hash <> encode(sha256(convert_to(cells, 'UTF8')), 'hex') THEN
    wrong := 'has the hash of another';
  ELSIF NOT pg_has_role(session_user, current_user, 'MEMBER')
    AND (head IS NULL OR NEW.state NOT IN ('reserved', 'released', 'admitted')) THEN
    wrong := 'needs the owner of the ledger, who alone may raise its budget or adopt it';
  ELSIF head IS NULL THEN
    RETURN NEW;
  ELSIF NEW.number <> head.number + 1 OR NEW.previous <> head.hash OR NEW.unit <> head.unit THEN
    wrong := 'does not follow the one before';
  ELSIF NEW.state <> 'adopted' AND (NEW.machine, NEW.place) <> (head.machine, head.place) THEN
    wrong := 'is of another server';
  ELSIF NEW.state <> 'raised' AND NEW.budget <> head.budget THEN
    wrong := 'has another budget';
  ELSIF NOT (free OR NEW.state IN ('reserved', 'adopted')) THEN
    wrong := 'pays for nothing';
  ELSIF NOT adds_up(head.total, NEW.price, NEW.total, measure = 'ApproximateDivergence') THEN
    wrong := 'does not add up with the one before';
  ELSIF NOT (free OR NEW.state = 'adopted' OR is_within(NEW.total, NEW.budget, measure)) THEN
    wrong := 'is not within the budget';
  ELSIF (NEW.state = 'released') <> (NEW.closes IS NOT NULL) OR NEW.state = 'released' AND NOT EXISTS
    (SELECT 1 FROM opendp_lite.entries WHERE number = NEW.closes AND state = 'reserved') THEN
    wrong := 'ends no run';
  END IF;
  IF wrong IS NOT NULL THEN
    RAISE EXCEPTION 'the entry %', wrong USING ERRCODE = 'ODP01';
  END IF;
  -- Anybody may set this off in a session. Then a price would not be on the disk at the commit.
  PERFORM set_config('synchronous_commit', 'on', true);
  RETURN NEW;
END $$;

-- These stop an accident, not an owner who means it. TRUNCATE needs triggers of its own.
CREATE FUNCTION opendp_lite.only_add() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'a ledger is only added to' USING ERRCODE = 'ODP01';
END $$;
CREATE TRIGGER checked BEFORE INSERT ON opendp_lite.entries
  FOR EACH ROW EXECUTE FUNCTION opendp_lite.check_entry();
CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON opendp_lite.entries
  FOR EACH ROW EXECUTE FUNCTION opendp_lite.only_add();
CREATE TRIGGER kept_whole BEFORE TRUNCATE ON opendp_lite.entries
  FOR EACH STATEMENT EXECUTE FUNCTION opendp_lite.only_add();
CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON opendp_lite.ledger
  FOR EACH ROW EXECUTE FUNCTION opendp_lite.only_add();
CREATE TRIGGER kept_whole BEFORE TRUNCATE ON opendp_lite.ledger
  FOR EACH STATEMENT EXECUTE FUNCTION opendp_lite.only_add();

-- Functions are open to all by default.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA opendp_lite FROM PUBLIC;
