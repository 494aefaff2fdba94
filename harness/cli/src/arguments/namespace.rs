//! The names of namespaces on the command line. A name that no API server accepts is rejected before anything is
//! created or printed.

/// The maximum length of a name, set by Kubernetes.
const LONGEST: usize = 63;

/// The maximum length of the name of a Job's namespace, with room for the number of a shard.
const LONGEST_OF_JOB: usize = 58;

/// Reads the name of a namespace.
pub(crate) fn name(text: &str) -> Result<String, String> {
    up_to(text, LONGEST)
}

/// Reads the name of the namespace of a Job. Its manifest creates this namespace and the namespaces of its shards, and
/// `kubectl delete` with the manifest deletes them.
pub(crate) fn name_of_job(text: &str) -> Result<String, String> {
    if text == "default" || format!("{text}-").starts_with("kube-") {
        let why = "the manifest would change a namespace that belongs to Kubernetes; choose another name";
        return Err(why.to_owned());
    }
    up_to(text, LONGEST_OF_JOB)
}

fn up_to(text: &str, most: usize) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = (1..=most).contains(&text.len()) && text.chars().all(plain);
    if fits && !text.starts_with('-') && !text.ends_with('-') {
        return Ok(text.to_owned());
    }
    let ends = "and start and end with a letter or digit";
    Err(format!("it must have at most {most} lowercase letters, digits and dashes, {ends}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_that_an_api_server_accepts() {
        for good in ["a", "mine-0", "kube-system"] {
            assert_eq!(name(good), Ok(good.to_owned()));
        }
        for wrong in ["", "A b", "A_b", "-a", "a-", "a.b"] {
            assert!(name(wrong).is_err_and(|why| why.contains("at most 63 lowercase letters")), "{wrong}");
        }
        let long = "a".repeat(59);
        assert!(name(&long).is_ok() && name_of_job(&long).is_err_and(|why| why.contains("at most 58")));
    }

    #[test]
    fn a_job_has_namespaces_of_its_own() {
        for wrong in ["default", "kube-system", "kube"] {
            assert!(name_of_job(wrong).is_err_and(|why| why.contains("belongs to Kubernetes")), "{wrong}");
        }
        assert_eq!(name_of_job("kubernetes-tests"), Ok("kubernetes-tests".to_owned()));
    }
}
