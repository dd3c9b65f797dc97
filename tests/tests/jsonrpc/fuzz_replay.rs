//! Replays the corpus of the envelope's fuzz target, each file whole, cut at every byte, and with every byte spoilt.

use std::fs;
use std::path::PathBuf;

use mcp_sse_tests::fuzz::envelope::run;

fn corpus() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus/fuzz/envelope");
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the corpus lies beside the tests")
        .map(|entry| entry.expect("a readable folder").path())
        .map(|path| (path.clone(), fs::read(path).expect("a readable seed")))
        .collect();
    files.sort();
    files
}

#[test]
fn the_corpus_holds() {
    let corpus = corpus();
    assert!(corpus.len() >= 20, "the seeds are here");
    for (path, data) in corpus {
        println!("{}", path.display());
        run(&data);
    }
}

#[test]
fn every_cut_of_the_corpus_holds() {
    for (_, data) in corpus() {
        for cut in 0..data.len().min(300) {
            run(&data[..cut]);
        }
    }
}

#[test]
fn every_spoilt_byte_of_the_corpus_holds() {
    for (_, data) in corpus() {
        for at in 0..data.len().min(200) {
            for bad in [0, b'"', b'\\', b'}', b',', b'0', 0xff] {
                let mut spoilt = data.clone();
                spoilt[at] = bad;
                run(&spoilt);
            }
        }
    }
}
