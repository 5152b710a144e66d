//! Random syntax trees, as the parser makes them.

use deepconcolic_geometry::Norm;
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::syntax::{
    Binder, Bound, Domain, Each, Expr, ExprKind, Formula, Index, Layer, LayerKind, Members, Name,
    Neuron, Operation, Sign, Statement,
};
use super::super::{Activation, Input, Quantifier};
use super::formula::relation;
use crate::diagnostic::Span;

fn name() -> impl Strategy<Value = Name> + Clone {
    prop::sample::select(vec!["i", "j", "k", "conv1", "_q"]).prop_map(named)
}

fn named(text: &str) -> Name {
    let text = text.into();
    let span = Span::default();
    Name { text, span }
}

/// Any finite number that is not negative.
fn number() -> impl Strategy<Value = f64> + Clone {
    let any = (0..f64::INFINITY.to_bits()).prop_map(f64::from_bits);
    prop_oneof![any, (0..1000_u32).prop_map(f64::from)]
}

fn sign() -> impl Strategy<Value = Sign> + Clone {
    prop::sample::select(vec![Sign::Plus, Sign::Minus])
}

fn index() -> impl Strategy<Value = Index> + Clone {
    let leaf = prop_oneof![
        (0..i64::MAX).prop_map(Index::Integer),
        name().prop_map(Index::Variable),
        Just(Index::Depth),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|inner| Index::Negative(Box::new(inner))),
            vec((sign(), inner.clone()), 2..4).prop_map(|mut parts| {
                parts[0].0 = Sign::Plus;
                Index::Sum(parts)
            }),
            vec(inner, 2..4).prop_map(Index::Product),
        ]
    })
}

fn layer() -> impl Strategy<Value = Layer> + Clone {
    let kind = prop_oneof![
        Just(LayerKind::Input),
        Just(LayerKind::Logits),
        Just(LayerKind::Output),
        ".*".prop_map(LayerKind::Quoted),
        index().prop_map(LayerKind::Index),
    ];
    let span = Span::default();
    kind.prop_map(move |kind| Layer { span, kind })
}

fn binder() -> impl Strategy<Value = Binder> + Clone {
    let domain = prop_oneof![
        Just(Domain::Layers),
        Just(Domain::Hidden),
        layer().prop_map(Domain::Neurons),
        vec(layer(), 1..3).prop_map(Domain::Set),
        (index(), index(), any::<bool>()).prop_map(|(from, to, inclusive)| Domain::Range {
            from,
            to,
            inclusive
        }),
    ];
    (name(), domain).prop_map(|(variable, domain)| Binder {
        variable,
        domain,
        span: Span::default(),
    })
}

fn neuron(two: bool) -> impl Strategy<Value = Box<Neuron>> + Clone {
    (any::<bool>(), layer(), index()).prop_map(move |(second, layer, index)| {
        Box::new(Neuron {
            input: if two && second {
                Input::Second
            } else {
                Input::First
            },
            layer,
            index,
            index_span: Span::default(),
        })
    })
}

fn expr(two: bool) -> impl Strategy<Value = Expr> + Clone {
    fn plain(kind: ExprKind) -> Expr {
        let span = Span::default();
        Expr { span, kind }
    }
    let activation = prop::sample::select(vec![Activation::Pre, Activation::Post]);
    let leaf = prop_oneof![
        number().prop_map(ExprKind::Number),
        name().prop_map(ExprKind::Variable),
        (activation, neuron(two))
            .prop_map(|(activation, neuron)| ExprKind::Value(activation, neuron)),
    ];
    leaf.prop_map(plain).prop_recursive(3, 12, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let operation = prop::sample::select(vec![Operation::Times, Operation::Over]);
        prop_oneof![
            boxed.clone().prop_map(ExprKind::Abs),
            boxed.prop_map(ExprKind::Negative),
            vec((sign(), inner.clone()), 2..4).prop_map(|mut parts| {
                parts[0].0 = Sign::Plus;
                ExprKind::Sum(parts)
            }),
            vec((operation, inner), 2..4).prop_map(|mut parts| {
                parts[0].0 = Operation::Times;
                ExprKind::Product(parts)
            }),
        ]
        .prop_map(plain)
    })
}

fn bound() -> impl Strategy<Value = Bound> + Clone {
    let signed = || (number(), any::<bool>()).prop_map(|(n, minus)| if minus { -n } else { n });
    prop_oneof![
        signed().prop_map(Bound::Scalar),
        vec(signed(), 1..4).prop_map(|list| Bound::List(list.into())),
    ]
}

fn formula(two: bool) -> BoxedStrategy<Formula> {
    let span = Span::default();
    let compare = (expr(two), vec((relation(), expr(two)), 1..3))
        .prop_map(|(first, rest)| Formula::Compare { first, rest });
    let within = (bound(), bound()).prop_map(move |(lower, upper)| Formula::Within {
        input: Input::First,
        lower,
        upper,
        span,
    });
    let constant = any::<bool>().prop_map(Formula::Constant);
    let active = neuron(two).prop_map(Formula::Active);
    let norm = prop::sample::select(Norm::ALL.to_vec());
    let distance =
        (norm, relation(), expr(two)).prop_map(|(norm, relation, radius)| Formula::Distance {
            norm,
            relation,
            radius,
        });
    let leaf = if two {
        prop_oneof![compare, within, constant, active, distance].boxed()
    } else {
        prop_oneof![compare, within, constant, active].boxed()
    };
    leaf.prop_recursive(3, 16, 3, move |inner| {
        let pair = (
            inner.clone().prop_map(Box::new),
            inner.clone().prop_map(Box::new),
        );
        let members = members(inner.clone());
        prop_oneof![
            pair.0.clone().prop_map(Formula::Not),
            vec(inner.clone(), 2..4).prop_map(Formula::And),
            vec(inner, 2..4).prop_map(Formula::Or),
            pair.clone().prop_map(|(a, b)| Formula::Implies(a, b)),
            pair.clone()
                .prop_map(move |(a, b)| Formula::Iff(a, b, span)),
            pair.prop_map(move |(a, b)| Formula::Xor(a, b, span)),
            members.clone().prop_map(Formula::All),
            members.clone().prop_map(Formula::Any),
            (members, relation(), index()).prop_map(move |(members, relation, count)| {
                Formula::Count {
                    members,
                    relation,
                    count,
                    span,
                }
            }),
        ]
    })
    .boxed()
}

fn members(inner: impl Strategy<Value = Formula> + Clone + 'static) -> BoxedStrategy<Members> {
    let filter = vec((index(), relation(), index()), 0..3);
    let each = (inner.clone(), vec(binder(), 1..3), filter);
    prop_oneof![
        vec(inner, 0..3).prop_map(Members::List),
        each.prop_map(|(body, binders, filter)| Members::Each(Box::new(Each {
            body,
            binders,
            filter,
            span: Span::default(),
        }))),
    ]
    .boxed()
}

/// Any statement the parser can make; its names need not be bound.
pub(in super::super) fn statement() -> impl Strategy<Value = Statement> {
    let quantifier = prop::sample::select(vec![Quantifier::Exists, Quantifier::Forall]);
    let formula = any::<bool>().prop_flat_map(|two| (Just(two), formula(two)));
    let head = (prop::option::of(".*"), vec(binder(), 0..3), quantifier);
    (head, formula).prop_map(|((name, binders, quantifier), (two, formula))| Statement {
        span: Span::default(),
        name,
        binders,
        quantifier,
        inputs: if two {
            vec![named("x"), named("y")]
        } else {
            vec![named("x")]
        },
        formula,
    })
}
