#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

const fn priority(fresh: bool, takes_us: u64) -> StartPriority {
    StartPriority { fresh, takes_us: Reverse(takes_us) }
}

/// The order in which these requests get the only slot, if it was taken when they arrived.
async fn order(asking: &[(&'static str, StartPriority)]) -> Vec<&'static str> {
    let slots = StartSlots::new(1);
    let taken = slots.take(1, priority(true, 0)).await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut all = tokio::task::JoinSet::new();
    for (name, priority) in asking.iter().copied() {
        let (slots, order) = (slots.clone(), Arc::clone(&order));
        all.spawn(async move {
            let slot = slots.take(1, priority).await.unwrap();
            order.lock().unwrap().push(name);
            drop(slot);
        });
        tokio::task::yield_now().await;
    }
    drop(taken);
    all.join_all().await;
    order.lock().unwrap().clone()
}

#[tokio::test]
async fn who_has_begun_comes_first_then_the_longest_then_who_asked_first() {
    let asking = [
        ("short", priority(true, 10)),
        ("long", priority(true, 90)),
        ("also short", priority(true, 10)),
        ("begun", priority(false, 10)),
    ];
    assert_eq!(order(&asking).await, ["begun", "long", "short", "also short"]);
}

#[tokio::test]
async fn who_wants_several_is_not_overtaken() {
    let slots = StartSlots::new(2);
    let one = slots.take(1, priority(true, 50)).await.unwrap();
    let two = slots.take(2, priority(true, 50));
    let small = slots.take(1, priority(true, 10));
    let (mut two, mut small) = (Box::pin(two), Box::pin(small));
    assert!(futures_util::poll!(&mut two).is_pending());
    assert!(futures_util::poll!(&mut small).is_pending());
    drop(one);
    let two = two.await.unwrap();
    assert!(futures_util::poll!(&mut small).is_pending());
    drop(two);
    small.await.unwrap();
}

#[tokio::test]
async fn who_has_gone_holds_nothing() {
    let slots = StartSlots::new(1);
    let taken = slots.take(1, priority(true, 50)).await.unwrap();
    let mut gone = Box::pin(slots.take(1, priority(true, 50)));
    assert!(futures_util::poll!(&mut gone).is_pending());
    drop(gone);
    drop(taken);
    slots.take(1, priority(true, 10)).await.unwrap();
}
