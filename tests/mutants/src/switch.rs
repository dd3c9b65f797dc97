//! Puts mutants into a file, each behind its switch.
//!
//! All edits are insertions: a mutated expression gets `(if is(7) { the changed text } else {` before it and `})` behind,
//! so the original stays where it is, with the mutants inside it. The changed text has none: only one is on at a time. An
//! operator is changed in the tree, not in the text: `a && b` within `a && b && c` becomes `(a || b) && c`.

use std::collections::BTreeMap;
use std::ops::Range;

use proc_macro2::{LineColumn, Span};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Arm, Block, Expr, ExprBinary, ExprMatch, ExprStruct, ExprUnary, Pat};

use crate::Result;
use crate::list::{Mutant, Place};

/// A file with switches in it.
#[derive(Debug, Default)]
pub struct Switched {
    pub text: String,
    /// Where each mutant's own text is, in bytes.
    pub places: Vec<(Range<usize>, u32)>,
    /// The mutants that are in.
    pub numbers: Vec<u32>,
}

/// The file with these mutants in it.
pub fn switch(source: &str, mutants: &[&Mutant]) -> Result<Switched> {
    let file = syn::parse_file(source)?;
    let mut by_place: BTreeMap<(&str, Place), Vec<&Mutant>> = BTreeMap::new();
    for mutant in mutants {
        by_place.entry((mutant.genre.as_str(), mutant.begin)).or_default().push(mutant);
    }
    let mut finder = Finder { source, by_place, inserts: Vec::new() };
    finder.visit_file(&file);
    Ok(assemble(source, finder.inserts))
}

/// What goes into the file at one place.
struct Insert {
    at: usize,
    /// Ends of inner expressions first, then beginnings, of outer ones first.
    order: (bool, usize, u8),
    pieces: Vec<(String, Option<u32>)>,
}

fn assemble(source: &str, mut inserts: Vec<Insert>) -> Switched {
    inserts.sort_by_key(|insert| (insert.at, insert.order));
    let mut switched = Switched::default();
    let mut done = 0;
    for insert in inserts {
        switched.text.push_str(&source[done..insert.at]);
        done = insert.at;
        for (piece, number) in insert.pieces {
            let begin = switched.text.len();
            switched.text.push_str(&piece);
            if let Some(number) = number {
                switched.places.push((begin..switched.text.len(), number));
                switched.numbers.push(number);
            }
        }
    }
    switched.text.push_str(&source[done..]);
    switched
}

/// Finds the syntax that the mutants belong to.
struct Finder<'a> {
    source: &'a str,
    by_place: BTreeMap<(&'a str, Place), Vec<&'a Mutant>>,
    inserts: Vec<Insert>,
}

impl<'a> Finder<'a> {
    fn take(&mut self, genre: &'static str, at: LineColumn) -> Vec<&'a Mutant> {
        self.by_place.remove(&(genre, (at.line, at.column + 1))).unwrap_or_default()
    }

    /// `before` and `behind` go around this span; `rank` orders what goes around the same one, the outermost first.
    fn around(&mut self, span: Range<usize>, rank: u8, before: Vec<(String, Option<u32>)>, behind: &str) {
        let behind = vec![(behind.to_owned(), None)];
        // Beginnings: the longest first. Ends: the shortest first.
        self.inserts.push(Insert { at: span.start, order: (true, usize::MAX - span.end, rank), pieces: before });
        self.inserts.push(Insert {
            at: span.end,
            order: (false, usize::MAX - span.start, u8::MAX - rank),
            pieces: behind,
        });
    }

    /// Each mutant's text instead of this expression.
    fn instead(&mut self, span: Span, texts: Vec<(String, u32)>) {
        if texts.is_empty() {
            return;
        }
        let mut pieces = vec![("(".to_owned(), None)];
        for (text, number) in texts {
            pieces.push((format!("if crate::switches::is({number}) {{ {text} }} else "), Some(number)));
        }
        pieces.push(("{ ".to_owned(), None));
        self.around(span.byte_range(), 2, pieces, " })");
    }

    fn body(&mut self, block: &Block) {
        let Some(first) = block.stmts.first() else { return };
        let pieces: Vec<_> = self
            .take("FnValue", first.span().start())
            .into_iter()
            .map(|mutant| {
                let text = format!("if crate::switches::is({}) {{ return {}; }} ", mutant.number, mutant.replacement);
                (text, Some(mutant.number))
            })
            .collect();
        if !pieces.is_empty() {
            let span = first.span().byte_range().start..block.span().byte_range().end;
            self.around(span, 0, pieces, "");
        }
    }

    fn arm(&mut self, arm: &Arm, deletable: bool) {
        let deleted = self.take("MatchArm", arm.span().start());
        for mutant in deleted.into_iter().filter(|_| deletable) {
            let text = format!(" if !crate::switches::is({})", mutant.number);
            let end = arm.pat.span().byte_range().end;
            self.inserts.push(Insert { at: end, order: (true, 0, 0), pieces: vec![(text, Some(mutant.number))] });
        }
        let Some((_, guard)) = &arm.guard else { return };
        let mutants = self.take("MatchArmGuard", guard.span().start());
        if mutants.is_empty() {
            return;
        }
        let texts = mutants.iter().map(|mutant| {
            let text = format!("if crate::switches::is({}) {{ {} }} else ", mutant.number, mutant.replacement);
            (text, Some(mutant.number))
        });
        let mut pieces = vec![("(".to_owned(), None)];
        pieces.extend(texts);
        pieces.push(("{ ".to_owned(), None));
        self.around(guard.span().byte_range(), 1, pieces, " })");
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.body(&function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.body(&function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.body(block);
        }
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_expr_match(&mut self, expression: &'ast ExprMatch) {
        // cargo-mutants takes `_ if x` for a catch-all, which would leave nothing for a deleted arm's values.
        let catches_all = |arm: &Arm| matches!(arm.pat, Pat::Wild(_)) && arm.guard.is_none();
        let deletable = expression.arms.iter().any(catches_all);
        for arm in &expression.arms {
            self.arm(arm, deletable);
        }
        visit::visit_expr_match(self, expression);
    }

    fn visit_expr_binary(&mut self, expression: &'ast ExprBinary) {
        // `if let Some(x) = y && z` is no expression to put an `if` around; its parts are.
        if !is_let(&expression.left) && !is_let(&expression.right) {
            let (whole, operator) = (expression.span().byte_range(), expression.op.span().byte_range());
            let (left, right) = (&self.source[whole.start..operator.start], &self.source[operator.end..whole.end]);
            let mutants = self.take("BinaryOperator", expression.op.span().start());
            let texts =
                mutants.iter().map(|mutant| (format!("{left}{}{right}", mutant.replacement), mutant.number)).collect();
            self.instead(expression.span(), texts);
        }
        visit::visit_expr_binary(self, expression);
    }

    fn visit_expr_unary(&mut self, expression: &'ast ExprUnary) {
        let mutants = self.take("UnaryOperator", expression.op.span().start());
        let text = &self.source[expression.expr.span().byte_range()];
        let texts = mutants.iter().map(|mutant| (text.to_owned(), mutant.number)).collect();
        self.instead(expression.span(), texts);
        visit::visit_expr_unary(self, expression);
    }

    fn visit_expr_struct(&mut self, expression: &'ast ExprStruct) {
        let whole = expression.span().byte_range();
        let mut texts = Vec::new();
        for pair in expression.fields.pairs() {
            let mut field = pair.value().span().byte_range();
            if let Some(comma) = pair.punct() {
                field.end = comma.span().byte_range().end;
            }
            for mutant in self.take("StructField", pair.value().span().start()) {
                let (before, behind) = (&self.source[whole.start..field.start], &self.source[field.end..whole.end]);
                texts.push((format!("{before}{behind}"), mutant.number));
            }
        }
        self.instead(expression.span(), texts);
        visit::visit_expr_struct(self, expression);
    }
}

fn is_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => is_let(&binary.left) || is_let(&binary.right),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(number: u32, genre: &str, begin: Place, replacement: &str) -> Mutant {
        let (folder, name, file, function) = (String::new(), String::new(), String::new(), String::new());
        Mutant {
            number,
            folder,
            name,
            file,
            function,
            genre: genre.to_owned(),
            is_constant: false,
            begin,
            replacement: replacement.to_owned(),
        }
    }

    fn switched(source: &str, mutants: &[Mutant]) -> String {
        let switched = switch(source, &mutants.iter().collect::<Vec<_>>()).expect("it parses");
        assert_eq!(switched.numbers.len(), mutants.len(), "{}", switched.text);
        switched.text.replace("crate::switches::", "")
    }

    #[test]
    fn what_is_inside_a_mutated_expression_keeps_its_own_switches() {
        let source = "fn f() -> bool { a && b && !c }";
        let mutants = [
            mutant(1, "FnValue", (1, 18), "true"),
            mutant(2, "BinaryOperator", (1, 20), "||"),
            mutant(3, "BinaryOperator", (1, 25), "||"),
            mutant(4, "UnaryOperator", (1, 28), ""),
        ];
        assert_eq!(
            switched(source, &mutants),
            "fn f() -> bool { if is(1) { return true; } (if is(3) { a && b || !c } else { (if is(2) { a || b } else \
             { a && b }) && (if is(4) { c } else { !c }) }) }"
        );
    }

    #[test]
    fn an_arm_gets_a_guard_and_a_guard_a_switch() {
        let source = "fn f() { match x { A => 1, B if y == 1 => 2, _ => 3 } }";
        let mutants = [
            mutant(1, "MatchArm", (1, 20), ""),
            mutant(2, "MatchArmGuard", (1, 33), "true"),
            mutant(3, "MatchArmGuard", (1, 33), "false"),
            mutant(4, "BinaryOperator", (1, 35), "!="),
        ];
        assert_eq!(
            switched(source, &mutants),
            "fn f() { match x { A if !is(1) => 1, B if (if is(2) { true } else if is(3) { false } else { (if is(4) \
             { y != 1 } else { y == 1 }) }) => 2, _ => 3 } }"
        );
    }

    #[test]
    fn a_field_is_left_out_for_the_base_to_give() {
        let source = "fn f() { S { a: 1, b, ..c } }";
        let mutants = [mutant(1, "StructField", (1, 14), ""), mutant(2, "StructField", (1, 20), "")];
        assert_eq!(
            switched(source, &mutants),
            "fn f() { (if is(1) { S {  b, ..c } } else if is(2) { S { a: 1,  ..c } } else { S { a: 1, b, ..c } }) }"
        );
    }
}
