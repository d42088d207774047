use super::*;

fn mean(deck: &mut Deck<u32>) -> f64 {
    (0..CARDS).map(|_| f64::from(deck.draw())).sum::<f64>() / CARDS as f64 * 512.0
}

#[test]
fn every_pass_has_the_mean_and_the_share() {
    let random = || Stream::new(1, "deck test");
    for bytes in [512.0, 1000.0, 2048.0, 3932.0, 4096.0, 4200.0, 12_288.0, 448_880.0, 9e6] {
        for least in [1, 2] {
            let mut deck = Deck::sizes(bytes, least, random());
            for _ in 0..3 {
                let off = (mean(&mut deck) - bytes).abs();
                assert!(off <= 4.0, "{bytes} from {least} on: off by {off}");
            }
        }
    }
    for share in [0.0, 0.01, 0.5, 1.0] {
        let mut deck = Deck::coin(share, random());
        let heads = (0..CARDS).filter(|_| deck.draw()).count();
        assert!((heads as f64 / CARDS as f64 - share).abs() <= 0.0005);
    }
}

#[test]
fn pairs_of_equal_sizes() {
    let random = || Stream::new(1, "deck test");
    // Half are 2 KiB and half are 4 KiB: 512 * 511 * 2 of 1024 * 1023 pairs are equal.
    let half = Deck::sizes(3072.0, 1, random()).pairs();
    assert!((half - 511.0 / 1023.0).abs() < 1e-12, "{half}");
    assert!((Deck::sizes(4096.0, 1, random()).pairs() - 1.0).abs() < 1e-12);
}

#[test]
fn sizes_start_where_they_are_told_to() {
    let mut deck = Deck::sizes(12_000.0, 2, Stream::new(1, "deck test"));
    let drawn: Vec<u32> = (0..CARDS).map(|_| deck.draw()).collect();
    assert_eq!(drawn.iter().min(), Some(&16));
    assert!(drawn.iter().all(|sectors| sectors % 8 == 0));
    assert!(drawn.windows(2).any(|pair| pair[0] > pair[1]), "cards are shuffled");
}
