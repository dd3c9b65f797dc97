//! The committed picture of the break matrix is drawn from the table beside it, and our rows of that are what our clients do now.
//! `UPDATE_DRAWINGS=1 cargo test -p mcp-sse-tests --test picture` draws it anew from that table; `tests/peers/run picture` makes both.

use std::fs;

use mcp_sse_tests::picture::{Row, Table, blocking, draw, kept, ours, tokio};

fn committed() -> (Table, String) {
    let (table, picture) = kept();
    let read = |path| fs::read_to_string(path).expect("it is committed");
    (Table::from_tsv(&read(table)), read(picture))
}

fn our_rows(table: &Table) -> &[Row] {
    &table.rows[..3]
}

#[test]
fn the_picture_is_drawn_from_the_table() {
    let (table, picture) = committed();
    assert_eq!(table, Table::new(table.rows.clone()), "other places are tried now: tests/peers/run picture");
    if std::env::var_os("UPDATE_DRAWINGS").is_some() {
        return fs::write(kept().1, draw(&table)).expect("it can be written");
    }
    assert!(draw(&table) == picture, "it is drawn otherwise now: UPDATE_DRAWINGS=1 writes it anew");
    // Each client has a row for each way to break, and a letter for each place.
    assert!(table.rows.len() > 3 && table.rows.iter().all(|row| row.letters.len() == table.offsets.len()));
}

/// E5, E9, E11, F1 at each place: what was delivered is answered and has run once, what was not runs again, and silence is waited out.
#[test]
fn our_part_of_it_is_what_the_blocking_client_does() {
    assert_eq!(ours(&blocking()), our_rows(&committed().0));
}

#[test]
fn our_part_of_it_is_what_the_tokio_client_does() {
    assert_eq!(ours(&tokio()), our_rows(&committed().0));
}
