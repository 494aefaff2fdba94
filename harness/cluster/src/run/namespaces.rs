//! The namespaces of a run: one for most cases, and a privileged one for the cases that need it.

use probity_case::Case;
use probity_model::clause::Need;
use probity_model::verdict::Skip;

use crate::error::ClusterError;
use crate::run::RunInProgress;
use crate::run::progress::Progress;
use crate::setup::namespace::Namespace;

impl RunInProgress {
    /// The name of the namespace in which most cases run.
    pub(super) async fn restricted_namespace(&mut self) -> Result<String, ClusterError> {
        let run = self.options.run.clone();
        if let Some(name) = self.options.namespace.clone() {
            self.namespaces.push(Namespace::existing(&self.cluster, &name, &run).await?);
            return Ok(name);
        }
        self.create_namespace(&run, "restricted").await?;
        Ok(run)
    }

    /// Creates a namespace. It is registered for the cleanup first, because an interruption may come while it is being
    /// created.
    async fn create_namespace(&mut self, name: &str, level: &str) -> Result<(), ClusterError> {
        self.namespaces.push(Namespace::planned(name, &self.options.run));
        let created = Namespace::create(&self.cluster, name, &self.options.run, level).await;
        if created.as_ref().is_err_and(ClusterError::is_rejection) {
            self.namespaces.pop();
        }
        created.map(|_| ())
    }

    /// Creates the privileged namespace if a case needs it. If it cannot be created, the cases that need it are
    /// skipped, with the reason.
    pub(super) async fn with_privileged(&mut self, cases: Vec<Case>) -> (Vec<Case>, Option<String>) {
        if !cases.iter().any(needs_privileged) {
            return (cases, None);
        }
        let why = if let Some(given) = &self.options.namespace {
            if Namespace::is_privileged(&self.cluster, given).await {
                return (cases, Some(given.clone()));
            }
            "--namespace is given, and this case needs a namespace that is labeled with the privileged Pod Security level"
                .to_owned()
        } else {
            let name = format!("{}-privileged", self.options.run);
            match self.create_namespace(&name, "privileged").await {
                Ok(()) => return (cases, Some(name)),
                Err(error) => format!("failed to create a privileged namespace: {error}"),
            }
        };
        let (without, rest): (Vec<_>, Vec<_>) = cases.into_iter().partition(needs_privileged);
        for Case { name: case, .. } in without {
            self.report(Progress::Skipped { case, reason: Skip::Precondition, why: why.clone() });
        }
        (rest, None)
    }
}

/// Whether a case needs a privileged namespace.
pub(super) fn needs_privileged(case: &Case) -> bool {
    case.needs.contains(&Need::PrivilegedNamespace)
}
