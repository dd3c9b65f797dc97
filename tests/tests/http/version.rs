//! Protocol versions: which texts name one, their order, their eras.

use mcp_sse_core::http::{Era, ProtocolVersion};

#[test]
fn the_five_dates_parse_print_and_stand_in_order() {
    let dates = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
    for (text, known) in dates.into_iter().zip(ProtocolVersion::KNOWN) {
        let version: ProtocolVersion = text.parse().unwrap();
        assert_eq!(version, known);
        assert_eq!(version.as_str(), text);
        assert_eq!(version.to_string(), text);
        assert_eq!(format!("{version:?}"), format!("ProtocolVersion({text})"));
    }
    assert!(ProtocolVersion::KNOWN.is_sorted());
    assert_eq!(ProtocolVersion::LATEST, ProtocolVersion::V2026_07_28);
    assert!(size_of::<ProtocolVersion>() <= 16);
}

#[test]
fn later_dates_are_versions_if_they_are_days() {
    for later in ["2026-07-29", "2026-12-31", "2028-02-29", "2100-01-01", "9999-12-31"] {
        let version: ProtocolVersion = later.parse().unwrap();
        assert_eq!(version.as_str(), later);
        assert!(version > ProtocolVersion::LATEST);
        assert_eq!(version.era(), Era::Modern);
    }
}

#[test]
fn anything_else_is_no_version() {
    for text in [
        "",
        "1",
        "2025",
        "0000-00-00",
        "2024-10-07",
        "2024-11-04",
        "2024-11-06",
        "2025-03-25",
        "2026-07-27",
        "2026-13-01",
        "2026-00-10",
        "2026-09-31",
        "2027-02-29",
        "2100-02-29",
        "2026-08-00",
        "2026-8-01",
        "2026/08/01",
        " 2026-07-28",
        "2026-07-28 ",
        "2026-07-28\n",
        "20260728",
        "2o26-07-28",
        "+026-08-01",
        "９999-12",
        "DRAFT-2026-v1",
        "draft",
    ] {
        let error = text.parse::<ProtocolVersion>().unwrap_err();
        assert!(!error.to_string().contains("DRAFT"), "{text}");
    }
}

#[test]
fn eras_follow_the_date() {
    let eras = ProtocolVersion::KNOWN.map(ProtocolVersion::era);
    assert_eq!(eras, [Era::HttpSse, Era::Legacy, Era::Legacy, Era::Legacy, Era::Modern]);
}

#[test]
fn e25_arrays_are_allowed_in_one_revision_only() {
    let allowing: Vec<_> = ProtocolVersion::KNOWN.into_iter().filter(|version| version.allows_arrays()).collect();
    assert_eq!(allowing, [ProtocolVersion::V2025_03_26]);
    assert!(!"2027-01-01".parse::<ProtocolVersion>().unwrap().allows_arrays());
}
