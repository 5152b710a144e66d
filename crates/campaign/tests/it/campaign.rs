//! Campaigns on random networks: limits hold, nothing depends on where a campaign was stopped or on
//! threads, and what is claimed survives a look from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use deepconcolic_campaign::{
    Campaign, FoundPair, Inputs, Limits, Noise, Provenance, Round, Seeds, Stage, Stop, Strategy,
    Subject, means,
};
use deepconcolic_check::{PairClaim, Until, Witnesses};
use deepconcolic_criteria::{
    self, Clearance, Decision, Family, Group, Guide, Means, Parameters, Profile, SampleView,
    Selection, Setting, Tally,
};
use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
use deepconcolic_language::Requirement;
use deepconcolic_network::{BitSet, Network, Point, Seed};
use deepconcolic_testing::{Family as Kind, network};

const SEEDS: usize = 3;

struct Setup {
    network: Arc<Network>,
    space: Arc<SearchSpace>,
    seeds: Arc<Seeds>,
    means: Arc<Means>,
    family: Arc<dyn Family>,
    decision: Arc<Decision>,
}

fn scene(kind: Kind, seed: u64, criterion: &str, norm: Norm, extent: Extent) -> Setup {
    let network = network(kind, seed);
    let n = network.input_elements();
    let domain = Domain::uniform(n, -1.0, 1.0).unwrap();
    let data = Noise::new(domain.clone(), 40, seed);
    let indices: Vec<usize> = (0..SEEDS).map(|s| 2 * s + 1).collect();
    let mut inputs = vec![0.0; SEEDS * n];
    data.gather(&indices, &mut inputs);
    let (profile, _): (Profile, usize) =
        deepconcolic_campaign::profile(&network, &data, 10, &Limits::default());
    let (means, sampled) = means(&network, &data);
    assert_eq!(sampled, 40);
    let space = SearchSpace::of(domain, Pixels::Single, norm, extent);
    let rows: Vec<Vec<f32>> = inputs.chunks(n).map(<[f32]>::to_vec).collect();
    let decision = Decision::shown(&network);
    let setting = Setting {
        network: &network,
        selection: &Selection::everything(&network),
        parameters: &Parameters {
            sections: 5,
            radius: Some(0.2),
            norm,
            ..Parameters::default()
        },
        decision: &decision,
        seeds: &rows,
        space: &space.units,
        profile: Some(&profile),
    };
    let family = deepconcolic_criteria::find(criterion)
        .unwrap()
        .family(&setting)
        .unwrap();
    Setup {
        seeds: Arc::new(Seeds::new(indices, inputs, n)),
        network: Arc::new(network),
        space: Arc::new(space),
        means: Arc::new(means),
        family: family.into(),
        decision: Arc::new(decision),
    }
}

impl Setup {
    fn campaign(&self, strategy: Strategy, limits: &Limits<'_>) -> Campaign {
        self.seeded(7, strategy, limits)
    }

    fn seeded(&self, rng_seed: u64, strategy: Strategy, limits: &Limits<'_>) -> Campaign {
        let subject = Subject {
            network: Arc::clone(&self.network),
            family: Arc::clone(&self.family),
            space: Arc::clone(&self.space),
            seeds: Arc::clone(&self.seeds),
            means: Arc::clone(&self.means),
            decision: Arc::clone(&self.decision),
        };
        Campaign::new(subject, strategy, rng_seed, 0, limits).unwrap()
    }

    fn run(&self, strategy: Strategy, executions: usize) -> (Campaign, Vec<Round>, Stop) {
        let limits = at_most(executions);
        let mut campaign = self.campaign(strategy, &limits);
        let (rounds, stop) = go_on(&mut campaign, &limits);
        (campaign, rounds, stop)
    }
}

fn at_most(executions: usize) -> Limits<'static> {
    Limits {
        executions: Some(executions),
        ..Limits::default()
    }
}

fn go_on(campaign: &mut Campaign, limits: &Limits<'_>) -> (Vec<Round>, Stop) {
    let mut rounds = Vec::new();
    let stop = campaign.run(limits, |_, round| {
        rounds.push(round.clone());
        Ok::<(), ()>(())
    });
    (rounds, stop.unwrap())
}

fn scenes() -> Vec<Setup> {
    let settings = [
        ("nc", Norm::LINF, Extent::Balls(0.3)),
        ("nbc", Norm::LINF, Extent::Domain),
        ("kmnc", Norm::L2, Extent::Balls(0.5)),
        ("tknc", Norm::L1, Extent::Balls(1.0)),
        ("safety", Norm::LINF, Extent::Balls(0.2)),
        ("ssc", Norm::LINF, Extent::Balls(0.5)),
        ("vvc", Norm::L2, Extent::Balls(1.0)),
    ];
    let mut all = Vec::new();
    for kind in Kind::ALL {
        for (criterion, norm, extent) in settings.clone() {
            all.push(scene(kind, 3, criterion, norm, extent));
        }
    }
    all
}

#[test]
fn a_campaign_restored_after_any_round_ends_the_same() {
    for scene in scenes() {
        let limits = at_most(3000);
        let (whole, rounds, stop) = scene.run(Strategy::Cascade, 3000);
        for cut in [0, 1, rounds.len() / 2, rounds.len()] {
            let cut = cut.min(rounds.len());
            let mut again = scene.campaign(Strategy::Cascade, &limits);
            for round in &rounds[..cut] {
                again.restore(round).unwrap();
            }
            assert_eq!(go_on(&mut again, &limits), (rounds[cut..].to_vec(), stop));
            assert_eq!(again.suite(), whole.suite());
            assert_eq!(again.ledger(), whole.ledger());
            assert_eq!(again.passes(), whole.passes());
        }
    }
}

#[test]
fn threads_do_not_matter() {
    let scene = scene(Kind::Image, 1, "nbc", Norm::LINF, Extent::Balls(0.4));
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap()
            .install(|| scene.run(Strategy::Cascade, 4000).0.suite().clone())
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn passes_stay_within_their_limit() {
    for scene in scenes() {
        for maximum in [1, 5, 60, 777, 2000] {
            for strategy in [Strategy::Cascade, Strategy::Random, Strategy::Paper] {
                if scene.family.has_pairs() && strategy != Strategy::Cascade {
                    continue;
                }
                let (campaign, _, stop) = scene.run(strategy, maximum);
                let made = campaign.passes().total();
                assert!(made <= maximum, "{made} of {maximum}");
                // Of pairs and in the paper's algorithm, what is left would not have paid for a goal; else the
                // last pass is spent.
                let whole_goals = scene.family.has_pairs() || strategy == Strategy::Paper;
                let unspent = if whole_goals { 500 } else { 0 };
                assert!(
                    stop == Stop::Complete || made + unspent >= maximum,
                    "{made} of {maximum}"
                );
            }
        }
    }
}

#[test]
fn finds_of_others_are_run_again_as_far_as_passes_reach() {
    /// Passes that running a pair again takes at most.
    const PAIR: usize = 4;
    let mut cut = 0;
    for kind in Kind::ALL {
        let scene = scene(kind, 3, "ssc", Norm::LINF, Extent::Balls(0.5));
        let (whole, ..) = scene.run(Strategy::Cascade, 3000);
        let tests = whole.suite().tests();
        let pair = |claim: &PairClaim| FoundPair {
            slot: claim.slot,
            inputs: [claim.first, claim.second].map(|test| tests[test as usize].input.clone()),
            root: tests[claim.second as usize].provenance.root,
        };
        for allowed in [0, 1, 3, 4, 5, 8, 11, 50] {
            let mut campaign = scene.campaign(Strategy::Cascade, &Limits::default());
            let before = campaign.passes().total();
            let pairs: Vec<FoundPair> = whole.claims().iter().map(pair).collect();
            let found = pairs.len();
            let admitted = campaign.admit(Vec::new(), pairs, &at_most(before + allowed));
            let (made, left) = (
                campaign.passes().total() - before,
                admitted.pairs_left.len(),
            );
            assert!(made <= allowed, "{made} of {allowed}");
            assert!(left == 0 || allowed - made < PAIR, "{made} of {allowed}");
            assert!(left == found || made > 0, "{left} of {found} left");
            cut += usize::from(left > 0 && left < found);
            let mut campaign = scene.campaign(Strategy::Cascade, &Limits::default());
            let inputs = tests.iter().take(9);
            let inputs: Vec<_> = inputs
                .map(|test| (test.input.clone(), test.provenance.root))
                .collect();
            let given = inputs.len();
            let admitted = campaign.admit(inputs, Vec::new(), &at_most(before + allowed));
            let made = campaign.passes().total() - before;
            assert_eq!(
                (made, admitted.inputs_left),
                (given.min(allowed), given - given.min(allowed))
            );
        }
    }
    assert!(cut > 0);
}

#[test]
fn every_claim_survives_an_audit_and_every_test_is_in_its_place() {
    for scene in scenes() {
        let (campaign, rounds, _) = scene.run(Strategy::Cascade, 4000);
        let witnesses = Witnesses {
            network: &scene.network,
            family: scene.family.as_ref(),
            guide: scene.family.guide().ok(),
            space: &scene.space,
            seeds: scene.seeds.values(),
            means: &scene.means,
            decision: &scene.decision,
            until: Until::NEVER,
        };
        let tests = campaign.suite().tests();
        let inputs: Vec<f32> = tests.iter().flat_map(|t| &t.input).copied().collect();
        let audit = witnesses.audit(&inputs, campaign.claims()).unwrap();
        let ledger = campaign.ledger();
        let firm = audit.covered_count() - audit.fragile_count();
        let found = (ledger.covered_count(), ledger.total() - ledger.open_count());
        if scene.family.has_pairs() {
            // Tests also make pairs that nobody looked for.
            assert!(audit.covered_count() >= found.0 && firm >= found.1);
        } else {
            assert_eq!((audit.covered_count(), firm), found);
        }
        for (number, test) in tests.iter().enumerate() {
            assert_eq!(test.prediction, audit.predictions[number]);
            let Provenance {
                root,
                parent,
                stage,
            } = test.provenance;
            let root = scene.seeds.input(root);
            match parent {
                None => assert_eq!((stage, test.input.as_slice()), (Stage::Measure, root)),
                Some(parent) => {
                    assert!(parent < number);
                    assert_eq!(scene.space.violation(&test.input, root), None);
                }
            }
        }
        // Every test that was added brought something; a pair needs two.
        assert!(rounds.iter().all(|r| 2 * r.gain >= r.tests.len()));
    }
}

#[test]
fn a_test_that_was_tampered_with_is_not_restored() {
    let scene = scene(Kind::Relu, 2, "nbc", Norm::LINF, Extent::Domain);
    let (_, rounds, _) = scene.run(Strategy::Cascade, 3000);
    let number = rounds.iter().position(|r| !r.tests.is_empty()).unwrap();
    let restore = |round: &Round| {
        let mut campaign = scene.campaign(Strategy::Cascade, &Limits::default());
        for earlier in &rounds[..number] {
            campaign.restore(earlier).unwrap();
        }
        campaign.restore(round)
    };
    let round = &rounds[number];
    assert!(restore(round).is_ok());
    let mut outside = round.clone();
    outside.tests[0].input[0] = 1.5;
    assert!(restore(&outside).unwrap_err().contains("domain"));
    let mut useless = round.clone();
    useless.tests[0].input = scene.seeds.input(useless.tests[0].provenance.root).to_vec();
    assert!(restore(&useless).is_err());
}

/// Joins rounds of campaigns, in this order, into one that has only measured its seeds.
fn join(scene: &Setup, parts: &[&[Round]]) -> (Campaign, Vec<Round>) {
    let mut joined = scene.campaign(Strategy::Cascade, &Limits::default());
    let rounds = parts.iter().flat_map(|part| *part);
    let rounds = rounds.map(|round| joined.join(round).unwrap()).collect();
    (joined, rounds)
}

#[test]
fn joined_campaigns_cover_what_each_of_them_covers() {
    for scene in scenes() {
        let parts: Vec<(Campaign, Vec<Round>)> = [1, 2]
            .map(|rng_seed| {
                let limits = at_most(1500);
                let mut campaign = scene.seeded(rng_seed, Strategy::Cascade, &limits);
                let (rounds, _) = go_on(&mut campaign, &limits);
                (campaign, rounds)
            })
            .into();
        let (joined, rounds) = join(&scene, &[&parts[0].1, &parts[1].1]);
        for (group, left) in joined.ledger().uncovered().iter().enumerate() {
            let each = parts.iter().map(|part| &part.0.ledger().uncovered()[group]);
            let open = each.map(BitSet::complement).collect::<Vec<_>>();
            let covered = |slot: usize| open.iter().any(|covered| covered.contains(slot));
            for slot in 0..left.len() {
                assert_eq!(left.contains(slot), !covered(slot), "{group}:{slot}");
            }
        }
        // The same in another order, as a set.
        let (other, _) = join(&scene, &[&parts[1].1, &parts[0].1]);
        assert_eq!(other.ledger(), joined.ledger());
        assert_eq!(other.suite().len(), joined.suite().len());
        // What is there already is not taken twice.
        let (twice, _) = join(&scene, &[&parts[0].1, &parts[1].1, &parts[0].1]);
        assert_eq!(twice.suite(), joined.suite());
        // And what was joined can be restored.
        let mut again = scene.campaign(Strategy::Cascade, &Limits::default());
        for round in &rounds {
            again.restore(round).unwrap();
        }
        assert_eq!(again.suite(), joined.suite());
        assert_eq!(again.ledger(), joined.ledger());
    }
}

#[test]
fn what_is_joined_is_not_taken_on_trust() {
    let scene = scene(Kind::Relu, 2, "nbc", Norm::LINF, Extent::Domain);
    let (_, rounds, _) = scene.run(Strategy::Cascade, 3000);
    let number = rounds.iter().position(|r| !r.tests.is_empty()).unwrap();
    let mut round = rounds[number].clone();
    round.tests[0].input[0] = 1.5;
    let mut campaign = scene.campaign(Strategy::Cascade, &Limits::default());
    let before = campaign.suite().clone();
    assert!(campaign.join(&round).unwrap_err().contains("domain"));
    assert_eq!(*campaign.suite(), before);
}

#[test]
fn two_tests_for_what_is_met_already_are_neither_judged_nor_taken() {
    let scene = scene(Kind::Relu, 2, "ssc", Norm::LINF, Extent::Domain);
    let (_, rounds, _) = scene.run(Strategy::Cascade, 3000);
    let (mut joined, _) = join(&scene, &[&rounds]);
    let firm = |round: &Round| {
        let mut firm = round.clone();
        firm.pairs.retain(|pair| joined.is_met(pair.slot));
        firm
    };
    let number = rounds.iter().position(|r| !firm(r).pairs.is_empty());
    let number = number.expect("some pair is met by the margin");
    let mut wrong = firm(&rounds[number]);
    // Nothing changes between a test and itself.
    for pair in &mut wrong.pairs {
        pair.second = pair.first;
    }
    let mut campaign = scene.campaign(Strategy::Cascade, &Limits::default());
    for earlier in &rounds[..number] {
        campaign.join(earlier).unwrap();
    }
    let why = campaign.join(&wrong).unwrap_err();
    assert!(why.contains("do not meet"), "{why}");
    let (claims, tests) = (joined.claims().to_vec(), joined.suite().clone());
    assert!(joined.join(&wrong).unwrap().pairs.is_empty());
    assert_eq!(joined.claims(), claims);
    assert_eq!(*joined.suite(), tests);
}

#[test]
fn an_interrupted_round_leaves_no_trace() {
    let scene = scene(Kind::Image, 2, "nbc", Norm::LINF, Extent::Domain);
    let flag = AtomicBool::new(false);
    let limits = Limits {
        interrupt: Some(&flag),
        ..Limits::default()
    };
    let mut campaign = scene.campaign(Strategy::Cascade, &limits);
    let mut seen = 0;
    let stop = campaign.run(&limits, |_, _| {
        seen += 1;
        flag.store(seen == 2, Ordering::Relaxed);
        Ok::<(), ()>(())
    });
    assert_eq!((stop, seen), (Ok(Stop::Interrupted), 2));
    let before = campaign.suite().clone();
    assert_eq!(
        go_on(&mut campaign, &limits),
        (Vec::new(), Stop::Interrupted)
    );
    assert_eq!(*campaign.suite(), before);
}

/// A family whose guide raises a flag once it was asked so often.
struct Interrupting {
    family: Arc<dyn Family>,
    left: AtomicUsize,
    flag: Arc<AtomicBool>,
}

impl Family for Interrupting {
    fn groups(&self) -> &[Group] {
        self.family.groups()
    }

    fn label(&self, group: usize, slot: usize) -> String {
        self.family.label(group, slot)
    }

    fn requirement(&self, group: usize, slot: usize) -> Result<Requirement, String> {
        self.family.requirement(group, slot)
    }

    fn points(&self) -> Vec<Point> {
        self.family.points()
    }

    fn tally(&self) -> Box<dyn Tally + '_> {
        self.family.tally()
    }

    fn guide(&self) -> Result<&dyn Guide, String> {
        Ok(self)
    }
}

impl Guide for Interrupting {
    fn met(
        &self,
        look: SampleView<'_>,
        open: &[BitSet],
        clearance: Clearance,
        visit: &mut dyn FnMut(usize, usize),
    ) {
        let guide = self.family.guide().unwrap();
        guide.met(look, open, clearance, visit);
    }

    fn values(&self, look: SampleView<'_>, group: usize, slots: &[u32], out: &mut Vec<f32>) {
        self.family.guide().unwrap().values(look, group, slots, out);
    }

    fn pull(
        &self,
        look: SampleView<'_>,
        group: usize,
        slots: &[u32],
        enough: f32,
        seeds: &mut Vec<Seed<f32>>,
    ) -> f64 {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.flag.store(true, Ordering::Relaxed);
        }
        let guide = self.family.guide().unwrap();
        guide.pull(look, group, slots, enough, seeds)
    }
}

#[test]
fn a_round_cut_short_counts_unless_passes_are_counted() {
    for executions in [None, Some(5000)] {
        let mut scene = scene(Kind::Image, 2, "nbc", Norm::LINF, Extent::Domain);
        let flag = Arc::new(AtomicBool::new(false));
        scene.family = Arc::new(Interrupting {
            family: scene.family,
            left: AtomicUsize::new(200),
            flag: Arc::clone(&flag),
        });
        let limits = Limits {
            executions,
            interrupt: Some(&flag),
            ..Limits::default()
        };
        let mut campaign = scene.campaign(Strategy::Cascade, &limits);
        let (rounds, stop) = go_on(&mut campaign, &limits);
        assert_eq!(stop, Stop::Interrupted);
        // It was cut in the first round.
        match executions {
            None => assert!(rounds.len() == 1 && !rounds[0].tests.is_empty()),
            Some(_) => assert!(rounds.is_empty() && campaign.suite().len() == SEEDS),
        }
        // What was cut can be gone on with, and repeated from its record.
        flag.store(false, Ordering::Relaxed);
        let mut again = scene.campaign(Strategy::Cascade, &limits);
        for round in &rounds {
            again.restore(round).unwrap();
        }
        assert_eq!(again.suite(), campaign.suite());
        let (more, _) = go_on(&mut campaign, &at_most(2000));
        assert_eq!(go_on(&mut again, &at_most(2000)).0, more);
        assert!(!more.is_empty());
    }
}

#[test]
fn the_cascade_misses_nothing_that_chance_finds() {
    // So few inputs that thousands of draws visit almost every cell.
    for seed in 0..6 {
        let scene = scene(Kind::Relu, seed, "nbc", Norm::LINF, Extent::Domain);
        let covered = |strategy| scene.run(strategy, 3000).0.ledger().covered_count();
        assert!(
            covered(Strategy::Cascade) >= covered(Strategy::Random),
            "{seed}"
        );
    }
}
