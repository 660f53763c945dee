(* The laws of noise, of all scales, from the words of which a sampler makes it.

   A word is a sign and the first k bits h of a number u in [h / 2^k, (h + 1) / 2^k). It is sure of
   an answer if all u of that interval have it. A sampler gives no other answer then, and reads
   more bits where a word is not sure. The share of words that are sure of n is the probability of
   n, less at most 3 / 2^k: of more and more bits it is the law.

   Which words a float may decide is said in test_lemmas.py. *)

Require Import Reals ZArith Lra Lia ClassicalDescription.
Open Scope R_scope.

(* How many of the first n numbers have a property. *)
Fixpoint count (P : nat -> Prop) (n : nat) : R :=
  match n with
  | O => 0
  | S m => (if excluded_middle_informative (P m) then 1 else 0) + count P m
  end.

Lemma count_most : forall (P : nat -> Prop) x y n, 0 <= x <= y ->
  (forall h, (h < n)%nat -> P h -> x <= INR h /\ INR h + 1 <= y) ->
  count P n <= Rmax 0 (Rmin y (INR n) - x).
Proof.
  intros P x y n [Hx Hy] HP. induction n as [| n IH].
  - simpl. apply Rmax_l.
  - assert (L := IH (fun h Hh => HP h (Nat.lt_lt_succ_r _ _ Hh))). revert L.
    rewrite S_INR. cbn [count]. unfold Rmax, Rmin.
    destruct (excluded_middle_informative (P n)) as [H | H].
    + destruct (HP n (Nat.lt_succ_diag_r n) H). repeat destruct Rle_dec; lra.
    + repeat destruct Rle_dec; lra.
Qed.

Lemma count_least : forall (P : nat -> Prop) x y n, 0 <= x <= y ->
  (forall h, x < INR h -> INR h + 1 < y -> P h) ->
  Rmin (y - 1) (INR n) - x - 2 <= count P n.
Proof.
  intros P x y n [Hx Hy] HP.
  enough (Rmin (y - 1) (INR n) - x - 2 <= count P n /\ 0 <= count P n /\
          (y <= INR n + 1 -> y - x - 3 <= count P n)) by tauto.
  induction n as [| n IH].
  - simpl. unfold Rmin. destruct Rle_dec; lra.
  - rewrite S_INR. cbn [count]. revert IH. unfold Rmin. intros [A [B C]].
    destruct (excluded_middle_informative (P n)) as [H | H].
    + repeat destruct Rle_dec in A; repeat destruct Rle_dec; repeat split; intros; try lra.
      all: try (specialize (C ltac:(lra)); lra).
    + assert (INR n <= x \/ y <= INR n + 1) as [D | D].
      { destruct (Rle_dec (INR n) x); [now left |]. right. apply Rnot_lt_le. intro.
        apply H, HP; lra. }
      * repeat destruct Rle_dec in A; repeat destruct Rle_dec; repeat split; intros; lra.
      * specialize (C D).
        repeat destruct Rle_dec in A; repeat destruct Rle_dec; repeat split; intros; lra.
Qed.

(* Words of k bits, by the numbers that they may begin. *)
Definition sure (answer : R -> Prop) (k h : nat) : Prop :=
  forall u, 0 < u < 1 -> INR h / 2 ^ k <= u < (INR h + 1) / 2 ^ k -> answer u.

Definition share (answer : R -> Prop) (k : nat) : R := count (sure answer k) (2 ^ k) / 2 ^ k.

Theorem share_is_length : forall (answer : R -> Prop) a b k, 0 <= a <= b -> b <= 1 ->
  (forall u, 0 < u < 1 -> a < u < b -> answer u) ->
  (forall u, 0 < u < 1 -> answer u -> a <= u <= b) ->
  b - a - 3 / 2 ^ k <= share answer k <= b - a.
Proof.
  intros answer a b k Hab Hb Hin Hout.
  assert (N : 0 < 2 ^ k) by (apply pow_lt; lra).
  assert (E : INR (2 ^ k) = 2 ^ k) by (rewrite pow_INR; reflexivity).
  set (n := 2 ^ k) in *.
  assert (Ha' : 0 <= a * n <= b * n)
    by (split; [apply Rmult_le_pos | apply Rmult_le_compat_r]; lra).
  assert (Hb' : b * n <= n) by (rewrite <- (Rmult_1_l n) at 2; apply Rmult_le_compat_r; lra).
  unfold share. fold n.
  assert (L : b * n - a * n - 3 <= count (sure answer k) (2 ^ k)).
  { assert (K := count_least (sure answer k) (a * n) (b * n) (2 ^ k) Ha').
    rewrite E in K.
    assert (Rmin (b * n - 1) n = b * n - 1) as M by (apply Rmin_left; lra).
    rewrite M in K.
    assert (b * n - 1 - a * n - 2 <= count (sure answer k) (2 ^ k)); [apply K | lra].
    intros h H1 H2 u Hu [U1 U2]. apply Hin; [exact Hu |]. fold n in U1, U2. split.
    - apply Rlt_le_trans with (INR h / n); [| exact U1]. apply Rmult_lt_reg_r with n; [exact N |].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r; lra.
    - apply Rlt_trans with ((INR h + 1) / n); [exact U2 |].
      apply Rmult_lt_reg_r with n; [exact N |].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r; lra. }
  assert (M : count (sure answer k) (2 ^ k) <= b * n - a * n).
  { assert (K := count_most (sure answer k) (a * n) (b * n) (2 ^ k) Ha').
    rewrite E, Rmin_left, Rmax_right in K by lra. apply K. clear K. intros h Hh H.
    (* Only words below 2^k are counted, and their intervals have numbers from 0 to 1. *)
    assert (I : INR h + 1 <= n) by (rewrite <- E, <- S_INR; now apply le_INR).
    assert (P0 : 0 <= INR h) by apply pos_INR.
    assert (D : forall v, INR h < v < INR h + 1 -> a * n <= v <= b * n).
    { intros v Hv. assert (V : 0 < v / n < 1).
      { split; [apply Rdiv_lt_0_compat; lra |]. apply Rmult_lt_reg_r with n; [exact N |].
        unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l; lra. }
      destruct (Hout (v / n) V) as [D1 D2].
      - apply H; [exact V |]. fold n. unfold Rdiv. split.
        + apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat | lra].
        + apply Rmult_lt_compat_r; [now apply Rinv_0_lt_compat | lra].
      - assert (v = v / n * n) as W by (unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra).
        split; rewrite W; apply Rmult_le_compat_r; lra. }
    split; apply Rnot_lt_le; intro B.
    - destruct (D ((INR h + Rmin (a * n) (INR h + 1)) / 2)); unfold Rmin in *;
        destruct Rle_dec; lra.
    - destruct (D ((INR h + 1 + Rmax (b * n) (INR h)) / 2)); unfold Rmax in *;
        destruct Rle_dec; lra. }
  split; apply Rmult_le_reg_r with n; try exact N; unfold Rdiv.
  - rewrite Rmult_minus_distr_r, Rmult_minus_distr_r, !Rmult_assoc, Rinv_l; lra.
  - rewrite Rmult_minus_distr_r, !Rmult_assoc, Rinv_l; lra.
Qed.

(* A draw of a sign and a number, and how often a word of a sign and k bits is sure that it is n. *)
Definition frequency (draw : bool -> R -> Z) (n : Z) (k : nat) : R :=
  (share (fun u => draw false u = n) k + share (fun u => draw true u = n) k) / 2.

Lemma floor_is : forall x n, Int_part x = n <-> IZR n <= x < IZR n + 1.
Proof.
  intros x n. destruct (base_Int_part x) as [A B]. split; intro H.
  - subst n. lra.
  - apply Z.le_antisymm; apply Z.lt_succ_r, lt_IZR; rewrite succ_IZR; lra.
Qed.

Lemma frequency_is : forall draw n k a b c d,
  0 <= a <= b -> b <= 1 -> 0 <= c <= d -> d <= 1 ->
  (forall u, 0 < u < 1 -> a < u < b -> draw false u = n) ->
  (forall u, 0 < u < 1 -> draw false u = n -> a <= u <= b) ->
  (forall u, 0 < u < 1 -> c < u < d -> draw true u = n) ->
  (forall u, 0 < u < 1 -> draw true u = n -> c <= u <= d) ->
  (b - a + (d - c)) / 2 - 3 / 2 ^ k <= frequency draw n k <= (b - a + (d - c)) / 2.
Proof.
  intros draw n k a b c d Hab Hb Hcd Hd I1 O1 I2 O2. unfold frequency.
  assert (A := share_is_length (fun u => draw false u = n) a b k Hab Hb I1 O1).
  assert (B := share_is_length (fun u => draw true u = n) c d k Hcd Hd I2 O2).
  lra.
Qed.

(* Discrete Laplace: |N| = floor (t E + t c) for an exponential E = - ln u. *)
Section DiscreteLaplace.

Variable t : R.
Hypothesis t_positive : 0 < t.

Definition power (m : R) : R := exp (- (m / t)).
Definition start : R := - ln ((1 + power 1) / 2).
Definition size (u : R) : Z := Int_part (t * (- ln u + start)).
Definition laplace_draw (negative : bool) (u : R) : Z :=
  if negative then (- size u)%Z else size u.
Definition laplace_law (n : Z) : R :=
  power (Rabs (IZR n)) * ((1 - power 1) / (1 + power 1)).

Let tail (m : R) : R := 2 * power m / (1 + power 1).

Lemma power_positive : forall m, 0 < power m.
Proof. intro. apply exp_pos. Qed.

Lemma power_less : forall m, 0 < m -> power m < 1.
Proof.
  intros m H. rewrite <- exp_0. apply exp_increasing.
  assert (0 < m / t) by (apply Rdiv_lt_0_compat; lra). lra.
Qed.

Lemma power_falls : forall m n, m <= n -> power n <= power m.
Proof.
  intros m n [H | ->]; [left | right; reflexivity]. apply exp_increasing. unfold Rdiv.
  apply Ropp_lt_contravar, Rmult_lt_compat_r; [now apply Rinv_0_lt_compat | exact H].
Qed.

Lemma power_next : forall m, power (m + 1) = power m * power 1.
Proof. intro. unfold power. rewrite <- exp_plus. f_equal. unfold Rdiv. ring. Qed.

Lemma tail_positive : forall m, 0 < tail m.
Proof.
  intro m. assert (A := power_positive m). assert (B := power_positive 1).
  apply Rdiv_lt_0_compat; lra.
Qed.

Lemma tail_falls : forall m n, m <= n -> tail n <= tail m.
Proof.
  intros m n H. assert (A := power_falls m n H). assert (B := power_positive 1).
  unfold tail, Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat |]; lra.
Qed.

Lemma tail_below_1 : forall m, 1 <= m -> tail m <= 1.
Proof.
  intros m H. apply Rle_trans with (tail 1); [now apply tail_falls |].
  assert (A := power_less 1 Rlt_0_1). assert (B := power_positive 1).
  apply Rmult_le_reg_r with (1 + power 1); [lra |].
  unfold tail, Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(* t (E + c) is at least m where u is at most tail m. *)
Lemma at_least : forall u m, 0 < u -> (m <= t * (- ln u + start) <-> u <= tail m).
Proof.
  intros u m Hu. assert (B := power_positive 1).
  assert (T : ln (tail m) = - (m / t) + start).
  { unfold tail, start, Rdiv. rewrite (Rmult_comm 2), Rmult_assoc.
    rewrite ln_mult; [| apply power_positive |
      apply Rmult_lt_0_compat; [lra |]; apply Rinv_0_lt_compat; lra].
    unfold power at 1. rewrite ln_exp. f_equal.
    rewrite <- ln_Rinv by lra. f_equal. field. lra. }
  assert (M : t * (m / t) = m) by (field; lra).
  split; intro H.
  - apply Rnot_lt_le. intro C. apply ln_increasing in C; [| apply tail_positive].
    rewrite T in C. apply (Rmult_lt_compat_l t) in C; [| exact t_positive].
    rewrite Rmult_plus_distr_l in *. lra.
  - assert (C : ln u <= ln (tail m)).
    { destruct H as [H | ->]; [left; now apply ln_increasing | right; reflexivity]. }
    rewrite T in C. apply (Rmult_le_compat_l t) in C; [| lra].
    rewrite Rmult_plus_distr_l in *. lra.
Qed.

Lemma size_not_negative : forall u, 0 < u < 1 -> (0 <= size u)%Z.
Proof.
  intros u Hu. assert (B := power_positive 1). assert (C := power_less 1 Rlt_0_1).
  assert (u <= tail 0).
  { left. apply Rlt_le_trans with 1; [lra |]. unfold tail.
    unfold power at 1. replace (- (0 / t)) with 0 by (field; lra). rewrite exp_0.
    apply Rmult_le_reg_r with (1 + power 1); [lra |].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
  apply at_least in H; [| lra]. unfold size.
  destruct (base_Int_part (t * (- ln u + start))) as [D1 D2].
  apply Z.lt_succ_r, lt_IZR. rewrite succ_IZR. lra.
Qed.

Lemma size_is : forall u m, 0 < u < 1 ->
  (size u = m <-> u <= tail (IZR m) /\ tail (IZR m + 1) < u).
Proof.
  intros u m Hu. unfold size. rewrite floor_is.
  assert (A := at_least u (IZR m) (proj1 Hu)). assert (B := at_least u (IZR m + 1) (proj1 Hu)).
  split; intros [H1 H2]; split.
  - now apply A.
  - apply Rnot_le_lt. intro C. apply B in C. lra.
  - now apply A.
  - apply Rnot_le_lt. intro C. apply B in C. lra.
Qed.

Lemma law_is : forall m, 0 <= m ->
  (tail m - tail (m + 1)) / 2 = power m * ((1 - power 1) / (1 + power 1)).
Proof.
  intros m H. unfold tail. rewrite power_next. assert (B := power_positive 1). field. lra.
Qed.

Theorem discrete_laplace : forall n k,
  laplace_law n - 3 / 2 ^ k <= frequency laplace_draw n k <= laplace_law n.
Proof.
  intros n k. unfold laplace_law.
  assert (B := power_positive 1). assert (C := power_less 1 Rlt_0_1).
  destruct (Z.lt_trichotomy n 0) as [N | [N | N]].
  - assert (1 <= IZR (- n)) by (apply IZR_le; lia).
    assert (L := law_is (IZR (- n)) ltac:(lra)).
    rewrite Rabs_left by now apply IZR_lt. rewrite <- opp_IZR, <- L.
    assert (D := tail_falls (IZR (- n)) (IZR (- n) + 1) ltac:(lra)).
    assert (E := tail_positive (IZR (- n) + 1)). assert (F := tail_below_1 (IZR (- n)) ltac:(lra)).
    assert (G : forall u, 0 < u < 1 -> laplace_draw false u <> n).
    { intros u Hu. assert (P := size_not_negative u Hu). cbn. lia. }
    assert (K := frequency_is laplace_draw n k 0 0 (tail (IZR (- n) + 1)) (tail (IZR (- n)))).
    replace ((tail (IZR (- n)) - tail (IZR (- n) + 1)) / 2)
      with ((0 - 0 + (tail (IZR (- n)) - tail (IZR (- n) + 1))) / 2) by field.
    apply K; try lra; intros u Hu Hn.
    + lra.
    + exfalso. exact (G u Hu Hn).
    + cbn. assert (size u = (- n)%Z) by (apply size_is; lra). lia.
    + cbn in Hn. assert (S : size u = (- n)%Z) by lia. apply size_is in S; lra.
  - subst n. rewrite Rabs_R0. assert (D := tail_positive 1).
    assert (E := tail_below_1 1 ltac:(lra)).
    assert (F : forall u, 0 < u < 1 -> tail 1 < u -> size u = 0%Z).
    { intros u Hu H. apply Z.le_antisymm; [| now apply size_not_negative].
      apply Z.lt_succ_r, lt_IZR. destruct (base_Int_part (t * (- ln u + start))) as [D1 D2].
      fold (size u) in *. apply Rnot_le_lt. intro G.
      assert (1 <= t * (- ln u + start)) as H1 by (rewrite succ_IZR in G; lra).
      apply at_least in H1; lra. }
    assert (G : forall u, 0 < u < 1 -> size u = 0%Z -> tail 1 <= u).
    { intros u Hu H. apply size_is in H; [| exact Hu]. rewrite Rplus_0_l in H. lra. }
    assert (K := frequency_is laplace_draw 0 k (tail 1) 1 (tail 1) 1).
    assert (L : power 0 * ((1 - power 1) / (1 + power 1)) = (1 - tail 1 + (1 - tail 1)) / 2).
    { unfold tail. unfold power at 1. replace (- (0 / t)) with 0 by (field; lra). rewrite exp_0.
      field. lra. }
    rewrite L. apply K; try lra; intros u Hu Hn.
    + now apply F.
    + cbn in Hn. assert (P := G u Hu Hn). lra.
    + cbn. rewrite F; [reflexivity | exact Hu | lra].
    + cbn in Hn. assert (size u = 0%Z) as Z0 by lia. assert (P := G u Hu Z0). lra.
  - assert (1 <= IZR n) by (apply IZR_le; lia).
    assert (L := law_is (IZR n) ltac:(lra)).
    rewrite Rabs_right by lra. rewrite <- L.
    assert (D := tail_falls (IZR n) (IZR n + 1) ltac:(lra)).
    assert (E := tail_positive (IZR n + 1)). assert (F := tail_below_1 (IZR n) ltac:(lra)).
    assert (G : forall u, 0 < u < 1 -> laplace_draw true u <> n).
    { intros u Hu. assert (P := size_not_negative u Hu). cbn. lia. }
    assert (K := frequency_is laplace_draw n k (tail (IZR n + 1)) (tail (IZR n)) 0 0).
    replace ((tail (IZR n) - tail (IZR n + 1)) / 2)
      with ((tail (IZR n) - tail (IZR n + 1) + (0 - 0)) / 2) by field.
    apply K; try lra; intros u Hu Hn.
    + apply size_is; lra.
    + apply size_is in Hn; lra.
    + lra.
    + exfalso. exact (G u Hu Hn).
Qed.

(* So 1 / t is the loss of a row that moves a number by one. *)
Theorem discrete_laplace_loses : forall n m,
  laplace_law n <= exp (Rabs (IZR (n - m)) / t) * laplace_law m.
Proof.
  intros n m. assert (B := power_positive 1). assert (C := power_less 1 Rlt_0_1).
  assert (W : 0 < (1 - power 1) / (1 + power 1)) by (apply Rdiv_lt_0_compat; lra).
  unfold laplace_law. set (w := (1 - power 1) / (1 + power 1)) in *. unfold power.
  rewrite <- Rmult_assoc, <- exp_plus. apply Rmult_le_compat_r; [lra |].
  assert (D : - (Rabs (IZR n) / t) <= Rabs (IZR (n - m)) / t + - (Rabs (IZR m) / t)).
  { assert (T := Rabs_triang_inv (IZR m) (IZR n)). rewrite Rabs_minus_sym, <- minus_IZR in T.
    unfold Rdiv. apply (Rmult_le_compat_r (/ t)) in T; [| left; now apply Rinv_0_lt_compat].
    rewrite Rmult_minus_distr_r in T. lra. }
  destruct D as [D | ->]; [left; now apply exp_increasing | right; reflexivity].
Qed.

End DiscreteLaplace.

(* floor (v + s V + 1/2) for a symmetric V, of which P(|V| > x) = G x and G (Q u) = u. *)
Section Rounded.

Variables (v s : R) (G Q : R -> R).
Hypothesis s_positive : 0 < s.
Hypothesis G_0 : G 0 = 1.
Hypothesis G_positive : forall x, 0 <= x -> 0 <= G x.
Hypothesis G_falls : forall x y, 0 <= x < y -> G y < G x.
Hypothesis Q_inverse : forall u, 0 < u < 1 -> 0 <= Q u /\ G (Q u) = u.

Definition rounded_draw (negative : bool) (u : R) : Z :=
  Int_part (v + (if negative then - (s * Q u) else s * Q u) + 1 / 2).
Definition beyond (x : R) : R := G (Rmax x 0).
Definition below (x : R) : R := (1 + beyond (- x) - beyond x) / 2.
Definition edge (n : Z) : R := (IZR n - 1 / 2 - v) / s.

Lemma beyond_falls : forall x y, x <= y -> beyond y <= beyond x.
Proof.
  intros x y H. unfold beyond.
  assert (A : Rmax x 0 <= Rmax y 0) by (unfold Rmax; repeat destruct Rle_dec; lra).
  destruct A as [A | ->]; [| right; reflexivity].
  left. apply G_falls. split; [apply Rmax_r | exact A].
Qed.

Lemma beyond_is_share : forall x, 0 <= beyond x <= 1.
Proof.
  intro x. split; [apply G_positive, Rmax_r |]. rewrite <- G_0.
  replace (G 0) with (beyond 0) by (unfold beyond; now rewrite Rmax_left by lra).
  destruct (Rle_dec 0 x); [now apply beyond_falls |]. right. unfold beyond.
  now rewrite !Rmax_right by lra.
Qed.

Lemma less : forall u x, 0 < u < 1 -> u < beyond x -> x < Q u.
Proof.
  intros u x Hu H. destruct (Q_inverse u Hu) as [A B]. apply Rnot_le_lt. intro C.
  assert (D := beyond_falls (Q u) x C). unfold beyond at 2 in D.
  rewrite Rmax_left in D by exact A. lra.
Qed.

Lemma more : forall u x, 0 < u < 1 -> beyond x < u -> Q u < x.
Proof.
  intros u x Hu H. destruct (Q_inverse u Hu) as [A B]. apply Rnot_le_lt. intro C.
  assert (D := beyond_falls x (Q u) C). unfold beyond at 1 in D.
  rewrite Rmax_left in D by exact A. lra.
Qed.

Lemma edge_rises : forall n, edge n <= edge (n + 1).
Proof.
  intro n. unfold edge, Rdiv. rewrite plus_IZR.
  apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat | lra].
Qed.

Lemma s_edge : forall n, s * edge n = IZR n - 1 / 2 - v.
Proof. intro n. unfold edge. field. lra. Qed.

Lemma draw_is : forall negative u n, rounded_draw negative u = n <->
  edge n <= (if negative then - Q u else Q u) < edge (n + 1).
Proof.
  intros negative u n. unfold rounded_draw. rewrite floor_is.
  assert (A := s_edge n). assert (B := s_edge (n + 1)). rewrite plus_IZR in B.
  set (w := if negative then - Q u else Q u).
  replace (if negative then - (s * Q u) else s * Q u) with (s * w)
    by (unfold w; destruct negative; ring).
  split; intros [H1 H2]; split.
  - apply Rmult_le_reg_l with s; lra.
  - apply Rmult_lt_reg_l with s; lra.
  - apply (Rmult_le_compat_l s) in H1; lra.
  - apply (Rmult_lt_compat_l s) in H2; lra.
Qed.

Theorem rounded : forall n k,
  below (edge (n + 1)) - below (edge n) - 3 / 2 ^ k <= frequency rounded_draw n k
    <= below (edge (n + 1)) - below (edge n).
Proof.
  intros n k. assert (E := edge_rises n).
  assert (K := frequency_is rounded_draw n k (beyond (edge (n + 1))) (beyond (edge n))
    (beyond (- edge n)) (beyond (- edge (n + 1)))).
  replace (below (edge (n + 1)) - below (edge n)) with
    ((beyond (edge n) - beyond (edge (n + 1)) + (beyond (- edge (n + 1)) - beyond (- edge n))) / 2)
    by (unfold below; field).
  assert (B := beyond_is_share). assert (F := beyond_falls (edge n) (edge (n + 1)) E).
  assert (F' := beyond_falls (- edge (n + 1)) (- edge n) ltac:(lra)).
  apply K; try (split; [apply B | assumption]); try apply B; intros u Hu H.
  - apply draw_is. assert (L := less u (edge n) Hu (proj2 H)).
    assert (M := more u (edge (n + 1)) Hu (proj1 H)). lra.
  - apply draw_is in H. split; apply Rnot_lt_le; intro C.
    + assert (L := less u _ Hu C). lra.
    + assert (M := more u _ Hu C). lra.
  - apply draw_is. assert (L := less u (- edge (n + 1)) Hu (proj2 H)).
    assert (M := more u (- edge n) Hu (proj1 H)). lra.
  - apply draw_is in H. split; apply Rnot_lt_le; intro C.
    + assert (L := less u _ Hu C). lra.
    + assert (M := more u _ Hu C). lra.
Qed.

End Rounded.

Theorem rounded_laplace : forall v s n k, 0 < s ->
  let draw := rounded_draw v s (fun u => - ln u) in
  let G x := exp (- x) in
  let law := below G (edge v s (n + 1)) - below G (edge v s n) in
  law - 3 / 2 ^ k <= frequency draw n k <= law.
Proof.
  intros v s n k Hs. apply rounded.
  - exact Hs.
  - rewrite Ropp_0. apply exp_0.
  - intros. left. apply exp_pos.
  - intros. apply exp_increasing. lra.
  - intros u Hu. split.
    + left. apply Ropp_0_gt_lt_contravar. rewrite <- ln_1. apply ln_increasing; lra.
    + rewrite Ropp_involutive. apply exp_ln. lra.
Qed.

(* Phi is the normal distribution: its density is c exp (- z^2 / 2), and it is symmetric. *)
Theorem rounded_gaussian : forall (Phi Q : R -> R) c v s n k, 0 < s -> 0 < c ->
  (forall z, derivable_pt_lim Phi z (c * exp (- (z * z) / 2))) ->
  (forall z, Phi (- z) = 1 - Phi z) -> (forall z, Phi z <= 1) ->
  (forall u, 0 < u < 1 -> 0 <= Q u /\ 2 * (1 - Phi (Q u)) = u) ->
  let law := Phi (edge v s (n + 1)) - Phi (edge v s n) in
  law - 3 / 2 ^ k <= frequency (rounded_draw v s Q) n k <= law.
Proof.
  intros Phi Q c v s n k Hs Hc D S One Hq.
  set (G := fun x => 2 * (1 - Phi x)).
  assert (Half : Phi 0 = 1 / 2) by (assert (A := S 0); rewrite Ropp_0 in A; lra).
  assert (Same : forall x, below G x = Phi x).
  { intro x. unfold below, beyond, G. assert (A := S x).
    destruct (Rle_dec 0 x).
    - rewrite (Rmax_left x), (Rmax_right (- x)) by lra. lra.
    - rewrite (Rmax_right x), (Rmax_left (- x)) by lra. lra. }
  cbn zeta. rewrite <- !Same. apply rounded with (G := G); try exact Hs; try exact Hq.
  - unfold G. lra.
  - intros x _. unfold G. assert (A := One x). lra.
  - intros x y Hxy. unfold G.
    destruct (MVT_cor2 Phi (fun z => c * exp (- (z * z) / 2)) x y) as [z [A _]];
      [lra | intros; apply D |].
    assert (0 < c * exp (- (z * z) / 2) * (y - x)).
    { apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; [exact Hc | apply exp_pos] | lra]. }
    lra.
Qed.


(* The rounded Laplace loses |v - w| / s, as the real numbers with that noise do. *)
Section RoundedLoss.

Let H (x : R) : R := below (fun y => exp (- y)) x.

Lemma left_half : forall x, x <= 0 -> H x = exp x / 2.
Proof.
  intros x Hx. unfold H, below, beyond.
  rewrite Rmax_left, Rmax_right, Ropp_involutive, Ropp_0, exp_0 by lra. field.
Qed.

Lemma right_half : forall x, 0 <= x -> H x = 1 - exp (- x) / 2.
Proof.
  intros x Hx. unfold H, below, beyond.
  rewrite Rmax_right, Rmax_left, Ropp_0, exp_0 by lra. field.
Qed.

Lemma exp_rises : forall x y, x <= y -> exp x <= exp y.
Proof. intros x y [A | ->]; [left; now apply exp_increasing | right; reflexivity]. Qed.

Lemma sum_with_inverse_rises : forall x y, 0 <= x <= y -> exp x + exp (- x) <= exp y + exp (- y).
Proof.
  intros x y [A B]. assert (P : 1 <= exp x) by (rewrite <- exp_0; now apply exp_rises).
  assert (Q := exp_rises x y B). rewrite !exp_Ropp.
  assert (0 <= (exp y - exp x) * (1 - / exp x * / exp y)).
  { apply Rmult_le_pos; [lra |]. rewrite <- Rinv_mult.
    assert (1 <= exp x * exp y) by nra.
    assert (/ (exp x * exp y) <= / 1) by (apply Rinv_le_contravar; lra). lra. }
  replace ((exp y - exp x) * (1 - / exp x * / exp y))
    with (exp y + / exp y - (exp x + / exp x)) in H0 by (field; split; lra).
  lra.
Qed.

(* On each of three pieces, between 0 and - d and beside them. *)
Let K (d x : R) : R := exp (Rabs d) * H x - H (x + d).

Lemma left_piece : forall d a b, a <= b -> b <= 0 -> b <= - d -> K d a <= K d b.
Proof.
  intros d a b A B C. unfold K. rewrite !left_half by lra. rewrite !exp_plus.
  assert (E := exp_rises d (Rabs d) (Rle_abs d)). assert (F := exp_rises a b A). nra.
Qed.

Lemma right_piece : forall d a b, a <= b -> 0 <= a -> - d <= a -> K d a <= K d b.
Proof.
  intros d a b A B C. unfold K. rewrite !right_half by lra. rewrite !Ropp_plus_distr, !exp_plus.
  assert (D : - d <= Rabs d) by (rewrite <- Rabs_Ropp; apply Rle_abs).
  assert (E := exp_rises (- d) (Rabs d) D). assert (F := exp_rises (- b) (- a) ltac:(lra)). nra.
Qed.

Lemma middle_piece : forall d a b, a <= b -> Rmin 0 (- d) <= a -> b <= Rmax 0 (- d) ->
  K d a <= K d b.
Proof.
  intros d a b A. unfold K. destruct (Rle_dec 0 d) as [D | D]; intros B C.
  - rewrite Rmin_right in B by lra. rewrite Rmax_left in C by lra.
    rewrite (Rabs_right d), (left_half a), (left_half b) by lra.
    rewrite (right_half (a + d)), (right_half (b + d)) by lra.
    assert (S := sum_with_inverse_rises (a + d) (b + d) ltac:(lra)). rewrite !exp_plus in *. lra.
  - rewrite Rmin_left in B by lra. rewrite Rmax_right in C by lra.
    rewrite (Rabs_left d), (right_half a), (right_half b) by lra.
    rewrite (left_half (a + d)), (left_half (b + d)) by lra.
    assert (S := sum_with_inverse_rises (- (b + d)) (- (a + d)) ltac:(lra)).
    rewrite !Ropp_involutive, !Ropp_plus_distr, !exp_plus in *. lra.
Qed.

Lemma loss_rises : forall d a b, a <= b -> K d a <= K d b.
Proof.
  intros d a b A. set (p := Rmin 0 (- d)). set (q := Rmax 0 (- d)).
  assert (P : p <= 0 /\ p <= - d) by (unfold p; split; [apply Rmin_l | apply Rmin_r]).
  assert (Q : 0 <= q /\ - d <= q) by (unfold q; split; [apply Rmax_l | apply Rmax_r]).
  assert (L : forall x y, x <= y -> y <= p -> K d x <= K d y)
    by (intros; apply left_piece; lra).
  assert (M : forall x y, x <= y -> p <= x -> y <= q -> K d x <= K d y)
    by (intros; apply middle_piece; assumption).
  assert (N : forall x y, x <= y -> q <= x -> K d x <= K d y)
    by (intros; apply right_piece; lra).
  destruct (Rle_dec b p); [apply L; lra |]. destruct (Rle_dec q a); [apply N; lra |].
  destruct (Rle_dec a p); destruct (Rle_dec b q).
  - apply Rle_trans with (K d p); [apply L | apply M]; lra.
  - apply Rle_trans with (K d p); [apply L; lra |].
    apply Rle_trans with (K d q); [apply M | apply N]; lra.
  - apply M; lra.
  - apply Rle_trans with (K d q); [apply M | apply N]; lra.
Qed.

Theorem rounded_laplace_loses : forall v w s n, 0 < s ->
  H (edge v s (n + 1)) - H (edge v s n)
    <= exp (Rabs (v - w) / s) * (H (edge w s (n + 1)) - H (edge w s n)).
Proof.
  intros v w s n Hs. set (d := (w - v) / s).
  assert (E : forall m, edge v s m = edge w s m + d) by (intro; unfold edge, d; field; lra).
  assert (D : Rabs (v - w) / s = Rabs d).
  { unfold d, Rdiv. rewrite Rabs_mult, (Rabs_minus_sym w v), (Rabs_right (/ s)); [reflexivity |].
    left. now apply Rinv_0_lt_compat. }
  rewrite !E, D. assert (L := loss_rises d _ _ (edge_rises w s Hs n)). unfold K in L. lra.
Qed.

End RoundedLoss.
