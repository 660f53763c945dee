// What the site's search shows first: the guides of a task, then what is written for reviewers
// and builders, then the reference. A function that bears the name typed stays where it is.
Scorer.score = ([page, title, , , score, , kind]) => {
  const named = kind === "object" && /^dp\.\w+$/.test(title) && score > 11;
  if (page.startsWith("reference/")) return named ? score : score - 30;
  const late = /^(notebooks\/|experiments\/|data\/|[A-Z]|proofs|errata|exactness|core|extending|testing|speed|accuracy|clusters|sampling)/;
  return late.test(page) && kind !== "index" ? score - 10 : score;
};
