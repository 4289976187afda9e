"""What a perfect fit of a small movie would say, for tests of its page."""

from types import SimpleNamespace

from thinrank.calcium import make_movie


def perfect_fit(seed):
    """The movie, the truth, and a fit with the true neurons."""
    movie, truth = make_movie(60, (40, 44), 3, n_close_pairs=1, random_state=seed)
    imaging = SimpleNamespace(
        frame_rate=7.0,
        decay_=truth.decay,
        mean_image_=movie.mean(axis=0),
        footprints_=truth.footprints,
        traces_=truth.traces,
        spike_trains_=3.0 * truth.spikes,
        region_coordinates_=truth.regions,
    )
    return imaging, truth
